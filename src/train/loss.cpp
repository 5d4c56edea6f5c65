#include "train/loss.h"

#include <algorithm>

namespace trireme::train {

double MeanLoss::operator()(double pipeline_sum, double tokens) {
  std::fill(slots_.begin(), slots_.end(), 0.0);
  slots_[grid_.at().data] = pipeline_sum;
  grid::Communicator &data = grid_.data(), &pipeline = grid_.pipeline();
  data.wait(data.all_reduce(kernels::view(slots_), grid::Reduce::sum, grid::Traffic::control));
  double sum = 0;
  for (double slot : slots_) sum += slot;
  pipeline.wait(pipeline.broadcast(kernels::view(sum), pipeline.size() - 1, grid::Traffic::control));
  return sum / tokens;
}

}  // namespace trireme::train
