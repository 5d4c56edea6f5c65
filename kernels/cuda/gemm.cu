// y [n, out] = x [n, in] W [out, in]^T on tensor cores: cp.async brings tiles of 32 columns of x and W into four stages of shared
// memory, ldmatrix and mma.sync take them from there, the epilogue works on the sums in registers.
#include "kernels/cuda/gemm.h"

#include "kernels/cuda/bugs.h"
#include "kernels/cuda/tile.cuh"
#include "kernels/cuda/views.h"

namespace trireme::kernels::cuda {
namespace {

constexpr int tile_rows = 128, tile_columns = 128, tile_depth = 32, stages = 4, threads = 256;
constexpr int warp_rows = 64, warp_columns = 32;  // 2 x 4 warps
constexpr int chunks = tile_depth / 8, tile_bytes = 128 * tile_depth * 2, stage_bytes = 2 * tile_bytes;
static_assert(tile_rows == tile_columns, "x and W have tiles of one shape");

template <class T>
struct Product {
  const T *x, *weight, *bias;  // bias: null or [out]
  T *pre, *y;                  // pre: only with GELU
  int rows, in, out;
};

/// sums += the warp's part of one stage
template <class T>
__device__ __forceinline__ void multiply_stage(const unsigned char* stage, int row, int column, float (&sums)[4][4][4]) {
#pragma unroll
  for (int chunk = 0; chunk < chunks; chunk += 2) {
    std::uint32_t a[4][4], b[4][2];
#pragma unroll
    for (int i = 0; i < 4; ++i) load_a<chunks>(a[i], stage, row + 16 * i, chunk);
#pragma unroll
    for (int j = 0; j < 4; j += 2) load_b<chunks>(b[j], b[j + 1], stage + tile_bytes, column + 8 * j, chunk);
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) ptx::mma_m16n8k16<T>(sums[i][j], a[i], b[j]);
  }
}

/// The tanh form: x sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3)); -2 sqrt(2/pi) log2(e) = -2.3022082
__device__ __forceinline__ float gelu(float x) {
  return x * ptx::reciprocal_approx(1.0f + ptx::exp2_approx(-2.3022082f * (x + 0.044715f * x * x * x)));
}

/// Two neighbours of a row: one access where both exist and rows have an even number of elements
template <class T>
__device__ __forceinline__ void put_pair(T* y, int row, int column, int columns, float first, float second) {
  struct alignas(4) Pair {
    T element[2];
  };
  T* to = y + static_cast<std::int64_t>(row) * columns + column;
  const Pair pair{{from_float<T>(first), from_float<T>(second)}};
  if (columns % 2 == 0) {
    ptx::store(to, pair);
  } else {
    ptx::store(to, pair.element[0]);
    if (column + 1 < columns) ptx::store(to + 1, pair.element[1]);
  }
}

template <class T, bool with_gelu>
__device__ __forceinline__ void finish(const Product<T>& p, int first_row, int first_column, const float (&sums)[4][4][4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const int column = first_column + 8 * j + lane % 4 * 2;
    if (column >= p.out && !TRIREME_BUG(gemm_column_bound)) continue;
    float bias[2] = {0, 0};
    if (p.bias != nullptr)
#pragma unroll
      for (int k = 0; k < 2; ++k)
        if (column + k < p.out) bias[k] = to_float(ptx::load<T>(p.bias + column + k));
#pragma unroll
    for (int i = 0; i < 8; ++i) {  // half a tile of 16 rows each
      const int row = first_row + 8 * i + lane / 4;
      if (row >= p.rows) continue;
      float first = sums[i / 2][j][i % 2 * 2] + bias[0], second = sums[i / 2][j][i % 2 * 2 + 1] + bias[1];
      if constexpr (with_gelu) {
        put_pair(p.pre, row, column, p.out, first, second);
        first = gelu(first), second = gelu(second);
      }
      put_pair(p.y, row, column, p.out, first, second);
    }
  }
}

template <class T, bool aligned, bool with_gelu>
__global__ void __launch_bounds__(threads) product(Product<T> p) {
  TRIREME_DYNAMIC_SHARED(memory);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int row = warp / 4 * warp_rows, column = warp % 4 * warp_columns;
  const int first_row = static_cast<int>(blockIdx.x) * tile_rows, first_column = static_cast<int>(blockIdx.y) * tile_columns;
  const int tiles = (p.in + tile_depth - 1) / tile_depth;
  const auto fetch_stage = [&](int tile) {
    if (tile < tiles) {
      unsigned char* stage = memory + tile % stages * stage_bytes;
      fetch_tile<tile_rows, chunks, threads, aligned>(stage, p.x, p.in, first_row, p.rows, tile * tile_depth, p.in);
      fetch_tile<tile_columns, chunks, threads, aligned>(stage + tile_bytes, p.weight, p.in, first_column, p.out,
                                                         tile * tile_depth, p.in);
    }
    if (!TRIREME_BUG(gemm_no_commit)) ptx::cp_async_commit();  // an empty group too, so that the wait below counts right
  };
  float sums[4][4][4] = {};
  for (int tile = 0; tile < stages - 1; ++tile) fetch_stage(tile);
  for (int tile = 0; tile < tiles; ++tile) {
    if (TRIREME_BUG(gemm_waits_too_little))
      ptx::cp_async_wait<stages - 1>();
    else
      ptx::cp_async_wait<stages - 2>();
    if (!TRIREME_BUG(gemm_no_barrier)) __syncthreads();  // all have waited; and all are done with the stage that is filled next
    fetch_stage(tile + stages - (TRIREME_BUG(gemm_stage_in_use) ? 0 : 1));
    multiply_stage<T>(memory + tile % stages * stage_bytes, row, column, sums);
  }
  finish<T, with_gelu>(p, first_row + row, first_column + column, sums);
}

template <bool with_gelu>
void launch(LinearShape shape, View x, View weight, View bias, View pre, View y, Stream stream) {
  with_type(x.type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, float>) {
      throw std::logic_error("tensor cores take bf16 and fp16");
    } else {
      Product<T> p{};
      p.x = elements<T>(x, shape.rows * shape.in);
      p.weight = elements<T>(weight, shape.out * shape.in);
      if (bias) p.bias = elements<T>(bias, shape.out);
      if (with_gelu) p.pre = elements<T>(pre, shape.rows * shape.out);
      p.y = elements<T>(y, shape.rows * shape.out);
      p.rows = static_cast<int>(shape.rows), p.in = static_cast<int>(shape.in), p.out = static_cast<int>(shape.out);
      const dim3 grid(static_cast<unsigned>((shape.rows + tile_rows - 1) / tile_rows),
                      static_cast<unsigned>((shape.out + tile_columns - 1) / tile_columns));
      if (shape.in % 8 == 0 && aligned16(p.x) && aligned16(p.weight))
        TRIREME_LAUNCH((product<T, true, with_gelu>), grid, dim3(threads), stages * stage_bytes, stream, p);
      else
        TRIREME_LAUNCH((product<T, false, with_gelu>), grid, dim3(threads), stages * stage_bytes, stream, p);
    }
  });
}

}  // namespace

void linear(LinearShape shape, View x, View weight, View bias, View y, Stream stream) {
  launch<false>(shape, x, weight, bias, {}, y, stream);
}

void linear_gelu(LinearShape shape, View x, View weight, View bias, View pre, View y, Stream stream) {
  launch<true>(shape, x, weight, bias, pre, y, stream);
}

}  // namespace trireme::kernels::cuda
