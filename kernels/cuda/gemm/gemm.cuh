// What the files of matrix products share: a product C [m, n] = A [m, k] B [k, n], and what becomes of C.
#pragma once

#include <cstdint>

#include "kernels/cuda/rows/dropout.cuh"
#include "kernels/cuda/target.h"
#include "kernels/cuda/views.h"

namespace trireme::kernels::cuda {

enum class Form {
  plain,          // y = C + bias
  gelu,           // pre = C + bias, y = gelu(pre)
  residual,       // y = before + dropout(C + bias)
  gelu_gradient,  // y = C gelu'(before)
  accumulate,     // sums += C
  part            // sums [parts, m, n]: C of the block's part of k
};

/// Matrices are [rows, columns] = [m, n].
template <class T>
struct Epilogue {
  Form form;
  const T* bias;    // [columns]; null: none
  const T* before;  // residual or pre-activation, read
  T *pre, *y;
  float* sums;
  int rows, columns;
  bool wide;       // four neighbours of any matrix here can be one access
  RowMasks masks;  // with a residual only
};

/// An operand lies along k when its rows in memory are rows of A or columns of B, as those of x and W in x W^T do; else across.
template <class T>
struct Product {
  const T *a, *b;
  std::int64_t a_stride, b_stride;  // elements from row to row
  int k, depth;                     // of each part: a multiple of 32
  bool aligned;                     // rows begin at multiples of 16 bytes and have whole pieces of 16 bytes
  float* row_sums;  // with A across k: sums over k of A's rows [parts, m], added to when there is one part; or null
  Epilogue<T> epilogue;
};

/// Rows of tiles that blocks go through column by column. Blocks that run together (about 256) then share 16 tiles of A and 16 of
/// B in the second-level cache; row after row they would share one of A and read all of B.
constexpr int tile_group = 16;

/// First row and column of the block's tile; blockIdx.x counts tiles.
template <int height, int width>
__device__ __forceinline__ void block_tile(int rows, int columns, int& row, int& column) {
  const unsigned tall = static_cast<unsigned>((rows + height - 1) / height),
                 wide = static_cast<unsigned>((columns + width - 1) / width);
  const unsigned first = blockIdx.x / (tile_group * wide) * tile_group, in_group = blockIdx.x % (tile_group * wide);
  const unsigned group = tall - first < tile_group ? tall - first : tile_group;
  row = static_cast<int>(first + in_group % group) * height;
  column = static_cast<int>(in_group / group) * width;
}

template <int height, int width>
dim3 tile_grid(int rows, int columns, int parts) {
  const std::int64_t tall = blocks_of(rows, height), wide = blocks_of(columns, width);
  return {grid_size(tall * wide), 1, grid_size(parts)};
}

/// In gemm_tensor.cu (bf16 and fp16) and gemm_fp32.cu, for (along, along), (along, across), (across, across)
template <class T, bool a_across, bool b_across>
void launch_product(const Product<T>& p, int parts, const Target& target);

}  // namespace trireme::kernels::cuda
