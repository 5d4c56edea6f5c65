// What turns a step's gradients into new weights: their memory, the sum over data ranks, the norm, the optimizer.
#pragma once

#include <vector>

#include "config/config.h"
#include "layout/layout.h"
#include "train/gradients.h"
#include "train/loss_scale.h"
#include "train/optimizer.h"
#include "train/replica.h"
#include "train/state.h"

namespace trireme::train {

class Updater {
 public:
  /// Takes gradients and moments of the replica's table, all zero. Refers to `replica`.
  Updater(const config::Config& config, const layout::Layout& layout, Replica& replica);
  Updater(const Updater&) = delete;
  Updater& operator=(const Updater&) = delete;

  /// Before a step's first pass: gradients are zero.
  void begin();
  /// The gradients of `layer` are complete on this rank (-1: embedding, l: final norm). Every data rank, in the same order.
  void layer_done(int layer) { reducer_.layer_done(layer); }
  /// After the last backward pass: all gradients are summed over the data ranks. Every rank.
  void reduce() { reducer_.finish(); }
  /// Step `step` >= 0 with the reduced gradients: forms the record's norm, scale and whether to skip, and updates the weights as
  /// it says. Every rank; all form the same. Does not wait for the device.
  void update(std::int64_t step);

  /// The step's kernels::StepOutcome, in device memory. Its loss is the caller's to write.
  kernels::View record() const { return record_; }
  /// Of the last update, the norm of each parameter's gradient (spec::model_parameters), before clipping. No communication; reads
  /// the device's memory.
  std::vector<double> gradient_norms() const { return norm_.by_parameter(scale_of_update_); }
  /// Where the passes accumulate; with p = 1 the output layer's gradient is apart from the token embedding's.
  const model::StageParameters& gradients() const { return views_; }
  /// The same as one buffer, at the places of the table, and the output layer's own (empty when p > 1).
  kernels::View gradient() const { return gradient_; }
  kernels::View output_gradient() const { return output_gradient_; }
  /// Of the step that comes next; the passes multiply the loss by it, the update takes it out of the gradients.
  LossScale& loss_scale() { return loss_scale_; }
  TrainingState state();
  std::vector<ClassArena> arenas() const;
  /// From here on a step takes no memory.
  void seal();

 private:
  config::Optimizer settings_;
  LossScale loss_scale_;
  double scale_of_update_ = 1;  // the loss scale of the last one
  Replica& replica_;
  kernels::Arena gradient_arena_, optimizer_arena_, record_arena_;
  kernels::View gradient_, output_gradient_, record_;
  model::StageParameters views_;
  GradientReducer reducer_;
  GradientNorm norm_;
  Optimizer optimizer_;
};

}  // namespace trireme::train
