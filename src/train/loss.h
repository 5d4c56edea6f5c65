// The loss of a step's or an evaluation's samples, formed in device memory.
#pragma once

#include "train/replica.h"

namespace trireme::train {

/// The sum over a pipeline's targets grows by one microbatch after the other, in their order; then the sums of all pipelines are
/// added. One contributor a slot, added in order, so that no layout rounds differently.
class Loss {
 public:
  /// Takes its cells. Refers to `replica`.
  explicit Loss(Replica& replica);
  Loss(const Loss&) = delete;
  Loss& operator=(const Loss&) = delete;

  /// Begins a sum.
  void clear() { replica_.device().zero(sum_); }
  /// Of one microbatch, fp64 [1]: for the last stage to write, before add().
  kernels::View microbatch() const { return microbatch_; }
  void add() { replica_.kernels().add(sum_, microbatch_); }
  /// The sum over all pipelines, fp64 [1]. Known on the last stage, wanted everywhere: every rank calls it.
  kernels::View reduce();

 private:
  Replica& replica_;
  kernels::Arena arena_;
  kernels::View microbatch_, sum_, total_;  // [1]
  kernels::View slots_;                     // [d]
};

}  // namespace trireme::train
