// AdamW with decoupled weight decay (Loshchilov and Hutter, 2019) over a rank's flat buffers, and the learning rate.
#pragma once

#include "config/config.h"
#include "kernels/kernels.h"
#include "spec/local_table.h"

namespace trireme::train {

/// Of step k >= 0: linear warm-up over W steps, then half a cosine from the maximum to the minimum at step D, then the minimum.
/// D = 0: constant after warm-up.
double learning_rate(const config::Optimizer& optimizer, std::int64_t step);

/// min(1, clip / (norm + 1e-6)); 1 when clip is 0.
double clip_factor(double clip, double norm);

class Optimizer {
 public:
  /// Takes two moments a parameter from `arena`.
  Optimizer(const config::Optimizer& settings, const spec::LocalTable& table, kernels::Kernels& kernels, kernels::Arena& arena);
  kernels::View first_moment() const { return first_moment_; }
  kernels::View second_moment() const { return second_moment_; }
  /// One update of `weights` in step `step` >= 0 with gradients times gradient_scale.
  void update(std::int64_t step, double gradient_scale, kernels::View weights, kernels::View gradients);

 private:
  config::Optimizer settings_;
  const spec::LocalTable& table_;
  kernels::Kernels& kernels_;
  kernels::View first_moment_, second_moment_;
};

}  // namespace trireme::train
