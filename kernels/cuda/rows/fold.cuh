// The second stage of sums over rows: sums over what blocks left, always in the same order.
#pragma once

#include <cstdint>

#include "kernels/cuda/target.h"
#include "kernels/cuda/views.h"

namespace trireme::kernels::cuda {

constexpr int fold_columns = 32, fold_rows = 8;

/// first, second [columns] += parts [blocks, 1 or 2, columns] summed over blocks: eight partial sums a column, then those.
/// second: null when parts has one sum a column
static TRIREME_KERNEL((fold_columns * fold_rows), fold_parts, const float* parts, int blocks, std::int64_t columns, float* first,
                      float* second) {
  TRIREME_SHARED(float, sums, fold_columns* fold_rows);
  const std::int64_t width = (second != nullptr ? 2 : 1) * columns;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * fold_columns + threadIdx.x;
  float sum = 0;
  for (int b = static_cast<int>(threadIdx.y); b < blocks && column < width; b += fold_rows)
    sum += ptx::load<float>(parts + b * width + column);
  sums[threadIdx.y * fold_columns + threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || column >= width) return;
  for (int r = 1; r < fold_rows; ++r) sum += sums[r * fold_columns + threadIdx.x];
  float* to = column < columns ? first + column : second + (column - columns);
  ptx::store(to, ptx::load<float>(to) + sum);
}

inline void launch_fold(const float* parts, std::int64_t blocks, std::int64_t columns, float* first, float* second,
                        const Target& target) {
  const unsigned grid = blocks_of((second != nullptr ? 2 : 1) * columns, fold_columns);
  TRIREME_LAUNCH(fold_parts, dim3(grid), dim3(fold_columns, fold_rows), 0, target.stream, parts, narrow(blocks), columns, first,
                 second);
}

}  // namespace trireme::kernels::cuda
