// One pipeline stage: its chunks of layers, with memory for as many microbatches as its schedule keeps alive.
#pragma once

#include <functional>
#include <vector>

#include "model/embedding.h"
#include "model/head.h"
#include "model/layer.h"
#include "spec/stages.h"

namespace trireme::model {

/// What one microbatch keeps from its forward to its backward pass in one chunk (spec/buffers.h).
struct Slot {
  View input, gradient;  // of the chunk
  View tokens, targets;  // of the microbatch: only the first stage reads tokens, only the last targets
  std::vector<Buffers> layers;
  Pass pass;
  View output() const { return layers.empty() ? input : layers.back()[spec::Buffer::output]; }
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

  /// slot.input (or slot.tokens, in the first chunk) -> slot.output(), for the microbatch that begins with sample `first_sample`
  /// of the run. In the last chunk also the loss: `loss`, fp64 [1], gets the sum over slot.targets, in nats, slot.gradient is
  /// that of loss_scale times it, and the head's `gradients` accumulate.
  void forward(int chunk, int slot, std::uint64_t first_sample, const StageParameters& gradients, float loss_scale, View loss);
  /// The loss alone, no dropout; nothing is kept for a backward pass.
  void evaluate(int chunk, int slot, std::uint64_t first_sample, View loss);
  /// slot.gradient: of the output on entry, of the input on return; `gradients` accumulate. `layer_done(layer)` is called when
  /// those of that layer are complete for this microbatch: l is the final norm, -1 the embedding.
  void backward(int chunk, int slot, const StageParameters& gradients, const std::function<void(int)>& layer_done);

 private:
  void run_layers(int chunk, Slot& slot, Pass pass);

  Environment env_;
  std::vector<spec::Chunk> chunks_;
  StageParameters weights_;
  std::vector<std::vector<Slot>> slots_;
  Buffers shared_;  // by all layers, and the head's
};

}  // namespace trireme::model
