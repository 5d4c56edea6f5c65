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
  /// What an update changes: the weights, and their copy in the compute type (empty: none).
  struct Weights {
    kernels::View master, copy;
  };
  /// When an update is.
  struct Moment {
    std::int64_t step;    // from 0: the learning rate's
    std::int64_t number;  // from 1, of all updates: the moments'. A step that is skipped is none
  };
  /// One update, scaled or skipped as `record` says (kernels::StepOutcome, in device memory).
  void update(const Moment& moment, kernels::View record, Weights weights, kernels::View gradients);
  kernels::View first_moment() const { return first_moment_; }
  kernels::View second_moment() const { return second_moment_; }

 private:
  config::Optimizer settings_;
  const spec::LocalTable& table_;
  kernels::Kernels& kernels_;
  kernels::View first_moment_, second_moment_;
};

}  // namespace trireme::train
