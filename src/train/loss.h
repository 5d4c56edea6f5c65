// The mean loss of a step or an evaluation, from the sums of its pipelines.
#pragma once

#include <vector>

#include "grid/grid.h"

namespace trireme::train {

class MeanLoss {
 public:
  explicit MeanLoss(grid::Grid& grid) : grid_(grid), slots_(static_cast<std::size_t>(grid.shape().data)) {}

  /// `pipeline_sum`: of the losses of this pipeline's targets, known on its last stage; `tokens`: of all pipelines. The sums are
  /// exchanged with one contributor a slot and added in order, so that no layout rounds differently. Every rank; all return the
  /// same.
  double operator()(double pipeline_sum, double tokens);

 private:
  grid::Grid& grid_;
  std::vector<double> slots_;  // [d]
};

}  // namespace trireme::train
