// The second stage of weight gradients: sums over what blocks left, always in the same order.
#pragma once

#include <cstdint>

#include "kernels/cuda/bugs.h"
#include "kernels/cuda/ptx.cuh"

namespace trireme::kernels::cuda {

constexpr int fold_columns = 32, fold_rows = 8;

/// dgain, dbias += parts [blocks, 2, hidden] summed over blocks: eight partial sums a column, then those
static __global__ void __launch_bounds__(fold_columns* fold_rows)
    fold_parts(const float* parts, int blocks, int hidden, float* dgain, float* dbias) {
  TRIREME_SHARED(float, sums, fold_columns* fold_rows);
  const int column = static_cast<int>(blockIdx.x * fold_columns + threadIdx.x);
  float sum = 0;
  for (int b = static_cast<int>(threadIdx.y); b < blocks && column < 2 * hidden; b += fold_rows)
    sum += ptx::load<float>(parts + 2 * static_cast<std::int64_t>(b) * hidden + column);
  sums[threadIdx.y * fold_columns + threadIdx.x] = sum;
  if (!TRIREME_BUG(layer_norm_fold_no_barrier)) __syncthreads();
  if (threadIdx.y > 0 || column >= 2 * hidden) return;
  for (int r = 1; r < fold_rows; ++r) sum += sums[r * fold_columns + threadIdx.x];
  float* to = column < hidden ? dgain + column : dbias + (column - hidden);
  ptx::store(to, (TRIREME_BUG(layer_norm_overwrites) ? 0 : ptx::load<float>(to)) + sum);
}

}  // namespace trireme::kernels::cuda
