#include "train/loss.h"

namespace trireme::train {

using kernels::DType;

Loss::Loss(kernels::Kernels& kernels, kernels::Device& device, grid::Grid& grid, kernels::Arena& arena)
    : kernels_(kernels),
      device_(device),
      grid_(grid),
      microbatch_(arena.take(DType::fp64, 1)),
      sum_(arena.take(DType::fp64, 1)),
      slots_(arena.take(DType::fp64, grid.shape().data)) {}

void Loss::clear() { device_.zero(sum_); }

void Loss::reduce(kernels::View total) {
  device_.zero(slots_);
  device_.copy(slots_.slice(grid_.at().data, 1), sum_);
  grid_.data().order_after(grid_.data().all_reduce(slots_, grid::Reduce::sum, grid::Traffic::control));
  kernels_.sum(slots_, total);
  grid_.pipeline().order_after(grid_.pipeline().broadcast(total, grid_.shape().pipeline - 1, grid::Traffic::control));
}

}  // namespace trireme::train
