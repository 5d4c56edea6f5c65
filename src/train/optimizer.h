// AdamW with decoupled weight decay (Loshchilov and Hutter, 2019) over a rank's flat buffers, and the learning rate.
#pragma once

#include "config/config.h"
#include "kernels/kernels.h"
#include "spec/local_table.h"

namespace trireme::train {

/// Of step k >= 0: linear warm-up over W steps, then half a cosine from the maximum to the minimum at step D, then the minimum.
/// D = 0: constant after warm-up.
double learning_rate(const config::Optimizer& optimizer, std::int64_t step);

class Optimizer {
 public:
  /// Takes two moments a parameter from `arena`.
  Optimizer(const config::Optimizer& settings, const spec::LocalTable& table, kernels::Kernels& kernels, kernels::Arena& arena);
  /// One update of `weights` in step `step` >= 0, scaled or skipped as `record` says (kernels::StepOutcome, in device memory).
  void update(std::int64_t step, kernels::View record, kernels::View weights, kernels::View gradients);
  kernels::View first_moment() const { return first_moment_; }
  kernels::View second_moment() const { return second_moment_; }

 private:
  config::Optimizer settings_;
  const spec::LocalTable& table_;
  kernels::Kernels& kernels_;
  kernels::View first_moment_, second_moment_;
};

}  // namespace trireme::train
