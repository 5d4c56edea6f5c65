// One pipeline stage: its chunks of layers, with memory for as many microbatches as its schedule keeps alive.
#pragma once

#include <functional>
#include <vector>

#include "model/embedding.h"
#include "model/head.h"
#include "model/layer.h"
#include "spec/stages.h"

namespace trireme::model {

/// A microbatch's place in the run, its tokens and its loss. Only the first stage reads `inputs`, only the last `targets`.
struct Microbatch {
  std::uint64_t first_sample = 0;
  View inputs, targets;  // [s, b] int32
  View loss;             // [1] fp64, written in the last chunk: the sum over its targets, in nats
};

/// What one microbatch keeps from its forward to its backward pass in one chunk.
struct Slot {
  View input;     // [n, h]: received, or the embedding's output
  View gradient;  // [n, h]: received or formed by the head; turned in place into the gradient of `input`
  std::vector<LayerActivations> layers;
  View tokens;  // [s, b] int32: first chunk, for the embedding's gradient
  Pass pass;
  View output() const { return layers.empty() ? input : layers.back().output; }
};

class Stage {
 public:
  /// `slots[c]` microbatches alive at most in chunk c. Takes all its memory from `arena` and `scratch`.
  Stage(Environment env, std::vector<spec::Chunk> chunks, StageParameters weights, const std::vector<int>& slots,
        kernels::Arena& arena, kernels::Arena& scratch);

  Slot& slot(int chunk, int index) { return slots_[chunk][index]; }
  int slot_count(int chunk) const { return static_cast<int>(slots_[chunk].size()); }
  int chunk_count() const { return static_cast<int>(chunks_.size()); }
  const spec::Chunk& chunk(int index) const { return chunks_[index]; }

  /// slot.input (or the tokens, in the first chunk) -> slot.output(). In the last chunk also the loss, slot.gradient is that of
  /// loss_scale times it, and the head's `gradients` accumulate.
  void forward(int chunk, int slot, const Microbatch& microbatch, const StageParameters& gradients, float loss_scale);
  /// The loss alone, no dropout; nothing is kept for a backward pass.
  void evaluate(int chunk, int slot, const Microbatch& microbatch);
  /// slot.gradient: of the output on entry, of the input on return; `gradients` accumulate. `layer_done(layer)` is called when
  /// those of that layer are complete for this microbatch: l is the final norm, -1 the embedding.
  void backward(int chunk, int slot, const StageParameters& gradients, const std::function<void(int)>& layer_done);

 private:
  void run_layers(int chunk, Slot& slot, const Microbatch& microbatch, bool training);

  Environment env_;
  std::vector<spec::Chunk> chunks_;
  StageParameters weights_;
  std::vector<std::vector<Slot>> slots_;
  LayerScratch layer_scratch_;
  HeadScratch head_scratch_;
};

}  // namespace trireme::model
