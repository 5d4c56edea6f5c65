// Sums over the rows of a matrix, the first of two stages (fold.cuh has the second): a block takes a tile of columns and a share
// of the rows, 8 rows at a time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/instructions/numbers.cuh"

namespace trireme::kernels::cuda {

constexpr int column_lanes = 32, column_rows = 8, column_threads = column_lanes * column_rows;

/// Shares of the rows, gridDim.y: a function of the shape alone. 64 rows a share at least, so that the parts are small beside
/// what is summed.
inline std::int64_t row_shares(std::int64_t rows) { return std::clamp<std::int64_t>(rows / 64, 1, 256); }

/// parts [gridDim.y, sums, columns] = sums over the block's rows of what work(row, column, term [sums][size]) adds to `term` for
/// the piece that begins at `column`. Blocks of (32, 8) threads, gridDim.x = columns / (32 pieces), rounded up.
template <int sums, class T, class Work>
__device__ __forceinline__ void sum_columns(std::int64_t rows, int columns, float* parts, const Work& work) {
  constexpr int size = Piece<T>::size;
  constexpr int stride = column_lanes + column_lanes / size;  // of one element of all pieces: no bank conflict either way
  constexpr int row_places = sums * size * stride;
  TRIREME_SHARED(float, places, column_rows* row_places);
  const int first = static_cast<int>(blockIdx.x) * column_lanes * size;
  const int lane = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  float term[sums][size] = {};
  if (first + lane * size < columns) {
    for (std::int64_t row = blockIdx.y * column_rows + threadIdx.y; row < rows; row += gridDim.y * column_rows)
      work(row, first + lane * size, term);
  }
#pragma unroll
  for (int i = 0; i < sums * size; ++i) ptx::store(places + y * row_places + i * stride + lane, term[i / size][i % size]);
  __syncthreads();
  for (int i = y * column_lanes + lane; i < sums * size * column_lanes; i += column_threads) {
    const int sum = i / (size * column_lanes), column = i % (size * column_lanes);
    const float* place = places + (sum * size + column % size) * stride + column / size;
    float total = 0;
#pragma unroll
    for (int r = 0; r < column_rows; ++r) total += ptx::load<float>(place + r * row_places);
    if (first + column < columns)
      ptx::store(parts + (static_cast<std::int64_t>(blockIdx.y) * sums + sum) * columns + first + column, total);
  }
}

}  // namespace trireme::kernels::cuda
