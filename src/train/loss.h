// The loss of a step's samples, formed in device memory.
#pragma once

#include "grid/grid.h"
#include "kernels/kernels.h"

namespace trireme::train {

/// The sum over a pipeline's targets grows by one microbatch after the other, in their order; then the sums of all pipelines are
/// added. One contributor a slot, added in order, so that no layout rounds differently.
class Loss {
 public:
  /// Takes its cells from `arena`.
  Loss(kernels::Kernels& kernels, kernels::Device& device, grid::Grid& grid, kernels::Arena& arena);

  /// Begins a sum.
  void clear();
  /// Of one microbatch, fp64 [1]: for the last stage to write, before add().
  kernels::View microbatch() const { return microbatch_; }
  void add() { kernels_.add(sum_, microbatch_); }
  /// total (fp64 [1]) := the sum over all pipelines. Known on the last stage, wanted everywhere: every rank calls it.
  void reduce(kernels::View total);

 private:
  kernels::Kernels& kernels_;
  kernels::Device& device_;
  grid::Grid& grid_;
  kernels::View microbatch_, sum_;  // [1]
  kernels::View slots_;             // [d]
};

}  // namespace trireme::train
