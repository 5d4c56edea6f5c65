// Runs a stage's list of actions: before each it posts the group of transfers that the schedule implies, then comes one switch
// over the action.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "layout/layout.h"
#include "train/batches.h"
#include "train/link.h"
#include "train/loss.h"
#include "train/replica.h"

namespace trireme::train {

/// Looks at what a step's passes leave, each as soon as it is done.
class Probe {
 public:
  virtual ~Probe() = default;
  /// `loss`: of the microbatch, fp64 [1] in device memory, formed in the last chunk of the model.
  virtual void after_forward(int chunk, int slot, int microbatch, kernels::View loss) = 0;
  /// The gradients of `layer`'s parameters hold this microbatch too (-1: embedding, l: final norm and output layer), and, but for
  /// the embedding, the slot's gradient is that of the layer's input.
  virtual void after_backward(int chunk, int slot, int microbatch, int layer) = 0;
};

/// One training step: what its passes work on, and what they hand over to.
struct TrainingPass {
  Batches& batches;
  std::int64_t step;
  Loss& loss;                               // gets the sum over this pipeline's targets, on the last stage
  float loss_scale;                         // of the loss, before the backward pass
  const model::StageParameters& gradients;  // accumulate
  std::function<void(int)> layer_done;      // the gradients of this layer are complete (-1: embedding, l: final norm)
  std::function<void()> optimizer_step;     // what Act::optimizer_step does
  Probe* probe = nullptr;
};

class PipelineExecutor {
 public:
  /// Takes pinned memory for the tokens of every microbatch of a pass. Refers to `replica`.
  PipelineExecutor(const config::Config& config, const layout::Layout& layout, Replica& replica);

  /// One step, forward and backward. Every rank calls it. The host goes on while the device works; it must have waited for the
  /// device before the next pass, whose tokens take the place of this one's.
  void train(const layout::Program& program, const TrainingPass& pass);
  /// The loss alone, without gradients and dropout, by the program's forward passes of `step`'s samples.
  void evaluate(const layout::Program& program, Batches& batches, std::int64_t step, Loss& loss);

  /// Whether this rank's stage reads tokens: the first and the last do.
  bool takes_tokens() const { return tokens_.has_value(); }
  /// The most activations alive at once in training so far, each of one microbatch and chunk, from forward to backward.
  int peak_activations() const { return peak_alive_; }

 private:
  /// What is under way into and from a slot's buffers, by payload.
  struct SlotState {
    std::array<InFlight, 2> received, sent;
  };
  struct Run;

  void run(const Run& run);
  void count_alive(const schedule::Action& action);
  void post(const Run& run, const schedule::Transfer& transfer);
  void forward(const Run& run, const schedule::Action& action);
  void backward(const Run& run, const schedule::Action& action);
  void load_tokens(const Run& run, const schedule::Action& action, const model::Slot& slot);
  int slot_of(int chunk, int microbatch) const { return microbatch % replica_.stage().slot_count(chunk); }

  Replica& replica_;
  grid::Activity& activity_;
  std::vector<std::optional<Link>> links_;       // [layout.channels]; nothing where this stage is no end
  std::vector<std::vector<SlotState>> slots_;    // [v][slots]
  int uploaded_at_once_;                         // microbatches whose tokens may be on their way to the device
  std::optional<kernels::PinnedMemory> tokens_;  // int32 [uploaded_at_once_, 2, s b]: inputs, targets
  int alive_ = 0, peak_alive_ = 0;
};

}  // namespace trireme::train
