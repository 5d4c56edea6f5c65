// Matrix products in fp32, without tensor cores: tiles of 64 x 64 results, 4 x 4 a thread; the next 16 of k are loaded into
// registers while these, in shared memory, are multiplied.
#include "kernels/cuda/gemm/gemm_epilogue.cuh"

namespace trireme::kernels::cuda {
namespace {

constexpr int tile_side = 64, tile_depth = 16, threads = 256, tile_elements = tile_side * tile_depth;
static_assert(tile_elements == 4 * threads, "a thread loads one piece of each operand");

/// The thread's place in a tile along k: a warp has two pieces of each of 16 rows, so that it reads whole sectors.
__device__ __forceinline__ int row_along() {
  return static_cast<int>(threadIdx.x) / 32 % 4 * 16 + static_cast<int>(threadIdx.x) % 32 / 2;
}
__device__ __forceinline__ int depth_along() {
  return static_cast<int>(threadIdx.x) / 128 * 8 + static_cast<int>(threadIdx.x) % 2 * 4;
}

/// Place of a row's element k in a tile [16 of k, 64]. Along k every second piece has its rows 16 places further, so that the two
/// pieces that a warp stores meet no bank conflict.
template <bool across>
__device__ __forceinline__ int place(int k, int row) {
  return k * tile_side + (across ? row : row ^ (k & 4) * 4);
}

/// The thread's piece of the tile of k from .. from + 15 below `end`, and of rows (of A; columns of B) first .. first + 63 of
/// `count`
template <bool across>
__device__ __forceinline__ Piece<float> load_piece(const float* matrix, std::int64_t stride, bool aligned, int first, int count,
                                                   int from, int end) {
  const int i = static_cast<int>(threadIdx.x);
  const int row = across ? from + i / 16 : first + row_along(), rows = across ? end : count;
  const int column = across ? first + i % 16 * 4 : from + depth_along();
  const int columns = row < rows ? (across ? count : end) : 0;
  if (aligned) return fetch<true>(matrix + row * stride, column, columns);
  return fetch<false>(matrix + row * stride, column, columns);
}

template <bool across>
__device__ __forceinline__ void store_piece(float* tile, const Piece<float>& piece) {
  if constexpr (across) {
    ptx::store(tile + 4 * threadIdx.x, piece);
  } else {
#pragma unroll
    for (int j = 0; j < 4; ++j) ptx::store(tile + place<across>(depth_along() + j, row_along()), piece.element[j]);
  }
}

/// sums += the products of a tile of A and one of B: rows row .. row + 3, columns column .. column + 3
template <bool a_across, bool b_across>
__device__ __forceinline__ void multiply_tile(const float* a, const float* b, int row, int column, float (&sums)[4][4]) {
#pragma unroll
  for (int k = 0; k < tile_depth; ++k) {
    const auto left = ptx::load<Quad<float>>(a + place<a_across>(k, row));
    const auto right = ptx::load<Quad<float>>(b + place<b_across>(k, column));
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) sums[i][j] += left.element[i] * right.element[j];
  }
}

/// Four sums over k of each of A's rows, in order, to memory. parts [4, 64] is shared memory that is free.
__device__ __forceinline__ void finish_row_sums(const Product<float>& p, int first_row, float sum, float* parts) {
  const int i = static_cast<int>(threadIdx.x);
  parts[i] = sum;
  __syncthreads();
  if (i >= tile_side || first_row + i >= p.epilogue.rows) return;
  float* to = p.row_sums + static_cast<std::int64_t>(blockIdx.z) * p.epilogue.rows + first_row + i;
  float all = gridDim.z == 1 ? ptx::load<float>(to) : 0.0f;
  for (int k = 0; k < threads / tile_side; ++k) all += parts[k * tile_side + i];
  ptx::store(to, all);
}

template <bool a_across, bool b_across>
TRIREME_KERNEL((threads), product_fp32, Product<float> p) {
  TRIREME_SHARED(float4, memory, tile_elements);  // two tiles of each operand
  auto* const tiles_of_a = reinterpret_cast<float*>(memory);
  float* const tiles_of_b = tiles_of_a + 2 * tile_elements;
  const int i = static_cast<int>(threadIdx.x), row = i / 16 * 4, column = i % 16 * 4;
  int first_row, first_column;
  block_tile<tile_side, tile_side>(p.epilogue.rows, p.epilogue.columns, first_row, first_column);
  const int begin = static_cast<int>(blockIdx.z) * p.depth, end = p.k - begin < p.depth ? p.k : begin + p.depth;
  const auto piece_of_a = [&](int from) {
    return load_piece<a_across>(p.a, p.a_stride, p.aligned, first_row, p.epilogue.rows, from, end);
  };
  const auto piece_of_b = [&](int from) {
    return load_piece<b_across>(p.b, p.b_stride, p.aligned, first_column, p.epilogue.columns, from, end);
  };
  const bool with_row_sums = a_across && p.row_sums != nullptr && first_column == 0;
  float sums[4][4] = {}, row_sum = 0;
  Piece<float> a = piece_of_a(begin), b = piece_of_b(begin);
  for (int from = begin, tile = 0; from < end; from += tile_depth, tile ^= tile_elements) {
    store_piece<a_across>(tiles_of_a + tile, a);
    store_piece<b_across>(tiles_of_b + tile, b);
    __syncthreads();  // all have stored; and all are done with the tiles before
    a = piece_of_a(from + tile_depth), b = piece_of_b(from + tile_depth);
    multiply_tile<a_across, b_across>(tiles_of_a + tile, tiles_of_b + tile, row, column, sums);
    if (with_row_sums)
#pragma unroll
      for (int k = 0; k < tile_depth; k += 4) row_sum += tiles_of_a[tile + (k + i / tile_side) * tile_side + i % tile_side];
  }
  if (with_row_sums) {
    __syncthreads();
    finish_row_sums(p, first_row, row_sum, tiles_of_a);
  }
  finish(p.epilogue, first_row + row, 1, first_column + column, sums);
}

}  // namespace

template <class T, bool a_across, bool b_across>
void launch_product(const Product<T>& p, int parts, const Target& target) {
  const dim3 grid = tile_grid<tile_side, tile_side>(p.epilogue.rows, p.epilogue.columns, parts);
  TRIREME_LAUNCH((product_fp32<a_across, b_across>), grid, dim3(threads), 0, target.stream, p);
}

template void launch_product<float, false, false>(const Product<float>&, int, const Target&);
template void launch_product<float, false, true>(const Product<float>&, int, const Target&);
template void launch_product<float, true, true>(const Product<float>&, int, const Target&);

}  // namespace trireme::kernels::cuda
