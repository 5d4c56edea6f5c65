// Matrix products on tensor cores: cp.async brings tiles of 32 of k of both operands into four stages of shared memory, ldmatrix
// and mma.sync take them from there. The sums return to shared memory, from where warps end them in whole rows.
#include "kernels/cuda/gemm/gemm_epilogue.cuh"
#include "kernels/cuda/gemm/tile.cuh"

namespace trireme::kernels::cuda {
namespace {

constexpr int tile_side = 128, tile_depth = 32, stages = 4, threads = 256, warps = threads / 32;
constexpr int warp_rows = 64, warp_columns = 32;                             // 2 x 4 warps
constexpr int along_chunks = tile_depth / 8, across_chunks = tile_side / 8;  // of a row of a tile
constexpr int tile_bytes = tile_side * tile_depth * 2, stage_bytes = 2 * tile_bytes;
static_assert(tile_side * tile_side * 4 <= stages * stage_bytes, "the sums take the stages' memory");

/// What a tile has of an operand: rows (of A; columns of B) first .. first + 127 of `count`, and k from .. from + 31 below `end`
struct Window {
  int first, count, from, end;
};

template <bool across, class T>
__device__ __forceinline__ void fetch_operand(unsigned char* tile, const T* matrix, std::int64_t stride, bool aligned,
                                              const Window& at) {
  if constexpr (across) {
    if (aligned)
      fetch_tile<tile_depth, across_chunks, threads, true>(tile, matrix, stride, at.from, at.end, at.first, at.count);
    else
      fetch_tile<tile_depth, across_chunks, threads, false>(tile, matrix, stride, at.from, at.end, at.first, at.count);
  } else {
    if (aligned)
      fetch_tile<tile_side, along_chunks, threads, true>(tile, matrix, stride, at.first, at.count, at.from, at.end);
    else
      fetch_tile<tile_side, along_chunks, threads, false>(tile, matrix, stride, at.first, at.count, at.from, at.end);
  }
}

/// sums += the warp's part of one stage: rows row .. row + 63, columns column .. column + 31 of the block's tile
template <class T, bool a_across, bool b_across>
__device__ __forceinline__ void multiply_stage(const unsigned char* stage, int row, int column, float (&sums)[4][4][4]) {
#pragma unroll
  for (int k = 0; k < tile_depth; k += 16) {
    std::uint32_t a[4][4], b[4][2];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (a_across)
        load_a_transposed<across_chunks>(a[i], stage, k, row / 8 + 2 * i);
      else
        load_a<along_chunks>(a[i], stage, row + 16 * i, k / 8);
    }
#pragma unroll
    for (int j = 0; j < 4; j += 2) {
      if constexpr (!b_across)
        load_b<along_chunks>(b[j], b[j + 1], stage + tile_bytes, column + 8 * j, k / 8);
      else
        load_b_transposed<across_chunks>(b[j], b[j + 1], stage + tile_bytes, k, column / 8 + j);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) ptx::mma_m16n8k16<T>(sums[i][j], a[i], b[j]);
  }
}

/// Sums over k of four of A's rows (columns of a tile across k): warp w has the tile's rows w, w + 8, ...
template <class T>
__device__ __forceinline__ void add_row_sums(const unsigned char* tile, float (&sums)[4]) {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int k = 0; k < tile_depth; k += warps) {
    const auto quad = ptx::load<Quad<T>>(tile + place<across_chunks>(k + warp, lane / 2) + lane % 2 * 8);
#pragma unroll
    for (int j = 0; j < 4; ++j) sums[j] += to_float(quad.element[j]);
  }
}

/// All warps' sums, in order, to memory. parts [warps, 128] is shared memory, free before and after.
template <class T>
__device__ __forceinline__ void finish_row_sums(const Product<T>& p, int first_row, const float (&sums)[4], float* parts) {
  const int i = static_cast<int>(threadIdx.x);
  __syncthreads();
  ptx::store(parts + 4 * i, Quad<float>{{sums[0], sums[1], sums[2], sums[3]}});
  __syncthreads();
  if (i < tile_side && first_row + i < p.epilogue.rows) {
    float* to = p.row_sums + static_cast<std::int64_t>(blockIdx.z) * p.epilogue.rows + first_row + i;
    float sum = gridDim.z == 1 ? ptx::load<float>(to) : 0.0f;
    for (int w = 0; w < warps; ++w) sum += parts[w * tile_side + i];
    ptx::store(to, sum);
  }
}

/// Byte of 4 columns (a chunk of 16 bytes) of a row of a warp's sums [64, 32]: the four rows that a fragment's half has beside
/// each other go to different banks
__device__ __forceinline__ int sums_place(int row, int chunk) { return (row * warp_columns / 4 + (chunk ^ row % 4 * 2)) * 16; }

/// memory [64, 32] fp32 is the warp's own.
template <class T>
__device__ __forceinline__ void finish_tile(const Epilogue<T>& p, int row, int column, const float (&sums)[4][4][4],
                                            unsigned char* memory) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int i = 0; i < 8; ++i)  // half a tile of 16 rows each
#pragma unroll
    for (int j = 0; j < 4; ++j)
      ptx::store(memory + sums_place(8 * i + lane / 4, 2 * j + lane % 4 / 2) + lane % 2 * 8,
                 float2{sums[i / 2][j][i % 2 * 2], sums[i / 2][j][i % 2 * 2 + 1]});
  __syncwarp();
#pragma unroll 1
  for (int first = 0; first < warp_rows; first += 16) {
    float v[4][4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      read_quad(reinterpret_cast<const float*>(memory + sums_place(first + 4 * i + lane / 8, lane % 8)), true, 4, v[i]);
    finish(p, row + first + lane / 8, 4, column + lane % 8 * 4, v);
  }
}

template <class T, bool a_across, bool b_across>
TRIREME_KERNEL((threads, 2), product, Product<T> p) {
  TRIREME_DYNAMIC_SHARED(memory, stages * stage_bytes);
  const int warp = static_cast<int>(threadIdx.x) / 32, row = warp / 4 * warp_rows, column = warp % 4 * warp_columns;
  int first_row, first_column;
  block_tile<tile_side, tile_side>(p.epilogue.rows, p.epilogue.columns, first_row, first_column);
  const int begin = static_cast<int>(blockIdx.z) * p.depth;
  const int end = p.k - begin < p.depth ? p.k : begin + p.depth;
  const int tiles = (end - begin + tile_depth - 1) / tile_depth;
  const auto fetch_stage = [&](int tile) {
    if (tile < tiles) {
      unsigned char* stage = memory + tile % stages * stage_bytes;
      const int from = begin + tile * tile_depth;
      fetch_operand<a_across>(stage, p.a, p.a_stride, p.aligned, {first_row, p.epilogue.rows, from, end});
      fetch_operand<b_across>(stage + tile_bytes, p.b, p.b_stride, p.aligned, {first_column, p.epilogue.columns, from, end});
    }
    ptx::cp_async_commit();  // an empty group too, so that the wait below counts right
  };
  const bool with_row_sums = a_across && p.row_sums != nullptr && first_column == 0;
  float sums[4][4][4] = {}, row_sums[4] = {};
  for (int tile = 0; tile < stages - 1; ++tile) fetch_stage(tile);
  for (int tile = 0; tile < tiles; ++tile) {
    ptx::cp_async_wait<stages - 2>();
    __syncthreads();  // all have waited; and all are done with the stage that is filled next
    fetch_stage(tile + stages - 1);
    const unsigned char* stage = memory + tile % stages * stage_bytes;
    multiply_stage<T, a_across, b_across>(stage, row, column, sums);
    if (with_row_sums) add_row_sums<T>(stage, row_sums);
  }
  if (with_row_sums) finish_row_sums(p, first_row, row_sums, reinterpret_cast<float*>(memory));
  __syncthreads();  // all are done with the stages
  finish_tile(p.epilogue, first_row + row, first_column + column, sums, memory + warp * warp_rows * warp_columns * 4);
}

}  // namespace

template <class T, bool a_across, bool b_across>
void launch_product(const Product<T>& p, int parts, const Target& target) {
  const dim3 grid = tile_grid<tile_side, tile_side>(p.epilogue.rows, p.epilogue.columns, parts);
  TRIREME_LAUNCH((product<T, a_across, b_across>), grid, dim3(threads), stages * stage_bytes, target.stream, p);
}

template void launch_product<bf16, false, false>(const Product<bf16>&, int, const Target&);
template void launch_product<bf16, false, true>(const Product<bf16>&, int, const Target&);
template void launch_product<bf16, true, true>(const Product<bf16>&, int, const Target&);
template void launch_product<fp16, false, false>(const Product<fp16>&, int, const Target&);
template void launch_product<fp16, false, true>(const Product<fp16>&, int, const Target&);
template void launch_product<fp16, true, true>(const Product<fp16>&, int, const Target&);

}  // namespace trireme::kernels::cuda
