// Attention's backward pass on tensor cores. A block owns 64 positions, 16 a warp, and takes the others tile by tile, two tiles
// in shared memory at a time: keys and values are met by the queries that see them, queries by the keys they see. So every
// gradient is summed in the registers of one warp, and P and dS go from accumulators to operands without shared memory; for that
// the gradients of keys work on transposed scores.
#include "kernels/cuda/attention/attention_backward.cuh"
#include "kernels/cuda/attention/attention_backward.h"

namespace trireme::kernels::cuda {
namespace {

constexpr int threads = 128, own_rows = 64;

/// Shared memory: the part of the block's own positions, two parts of those that pass by, as many as registers allow. A part is
/// two tiles, then log_sum and delta of its positions (of the queries' parts only).
template <int head_size>
struct SharedParts {
  static constexpr int passing_rows = 32;
  static constexpr int own_tile = own_rows * head_size * 2, passing_tile = passing_rows * head_size * 2;
  static constexpr int own_part = 2 * own_tile + 2 * own_rows * 4, passing_part = 2 * passing_tile + 2 * passing_rows * 4;
  static constexpr int bytes = own_part + 2 * passing_part;
};

/// Bit 4 j + i: whether dropout keeps element i of accumulator j of a tile [16 own rows, n passing ones]. Not unrolled: Philox
/// would take many registers at once.
template <bool of_keys, int n, class T>
__device__ __forceinline__ unsigned kept_of_tile(const AttentionInput<T>& in, int own, int passing) {
  static_assert(n <= 64);
  unsigned kept = 0;
#pragma unroll 1
  for (int j = 0; j < n / 8; ++j) {
    float factors[4];
    if (of_keys)
      fragment_dropout_transposed(in, own, passing + 8 * j, factors);
    else
      fragment_dropout(in, own, passing + 8 * j, factors);
#pragma unroll
    for (int i = 0; i < 4; ++i) kept |= (factors[i] > 0 ? 1u : 0u) << (4 * j + i);
  }
  return kept;
}

/// Scores and dO V^T [16 own rows, n passing ones], or transposed, become F P and dS. own, passing: first positions; log_sum,
/// delta: of the tile's queries, those that pass, or the warp's own.
template <bool of_keys, int n, class T>
__device__ __forceinline__ void differentiate_tile(const AttentionInput<T>& in, const float* log_sum, const float* delta, int own,
                                                   int passing, float (&scores)[n / 8][4], float (&dprobabilities)[n / 8][4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const unsigned kept = in.mask.threshold == 0 ? ~0u : kept_of_tile<of_keys, n>(in, own, passing);
#pragma unroll
  for (int j = 0; j < n / 8; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + i / 2 * 8, column = 8 * j + lane % 4 * 2 + i % 2, query = of_keys ? column : row;
      const int behind = of_keys ? passing + column - own - row : own + row - passing - column;  // of the key
      const bool visible = behind >= 0;
      const float factor = (kept >> (4 * j + i) & 1) != 0 ? in.mask.scale : 0.0f;
      differentiate(scores[j][i], dprobabilities[j][i], factor, in.scale, log_sum[query], delta[query], visible);
    }
}

/// Of `rows` positions from `first`: keys and values, or queries with their dout, log_sum and delta
template <bool of_keys, int rows, int chunks, class T>
__device__ __forceinline__ void fetch_part(const AttentionGradient<T>& p, unsigned char* part, int first) {
  constexpr int tile_bytes = rows * chunks * 16;
  static_assert(2 * rows <= threads);
  const T* x = p.in.qkv + p.in.in_qkv(of_keys ? 1 : 0);
  const T* y = of_keys ? p.in.qkv + p.in.in_qkv(2) : p.dout + p.in.in_out();
  const std::int64_t y_stride = of_keys ? p.in.qkv_stride : p.in.out_stride;
  fetch_tile<rows, chunks, threads, true>(part, x, p.in.qkv_stride, first, p.in.sequence, 0, 8 * chunks);
  fetch_tile<rows, chunks, threads, true>(part + tile_bytes, y, y_stride, first, p.in.sequence, 0, 8 * chunks);
  if (const int i = static_cast<int>(threadIdx.x); !of_keys && i < 2 * rows) {
    const float* from = (i < rows ? p.log_sum : p.delta) + p.in.in_rows();
    const bool inside = first + i % rows < p.in.sequence;
    ptx::cp_async<4>(part + 2 * tile_bytes + 4 * i, inside ? from + first + i % rows : from, inside ? 4 : 0);
  }
}

/// Gradients of keys and values (of_keys), or of queries. Rows past the sequence are 0 and so are their gradients: they need no
/// mask.
template <class T, int head_size, bool of_keys>
TRIREME_KERNEL((threads, head_size == 64 ? 3 : 2), gradients, AttentionGradient<T> p) {
  using Parts = SharedParts<head_size>;
  TRIREME_DYNAMIC_SHARED(memory, Parts::bytes);
  constexpr int chunks = head_size / 8, n = Parts::passing_rows;
  const int s = p.in.sequence, warp_row = static_cast<int>(threadIdx.x) / 32 * 16;
  // The first keys are seen by most queries, the last queries see most keys: the longest blocks come first.
  const int first = static_cast<int>(of_keys ? blockIdx.x : gridDim.x - 1 - blockIdx.x) * own_rows, own = first + warp_row;
  const int begin = of_keys ? first / n : 0;
  const int end = ((of_keys || first + own_rows > s ? s : first + own_rows) + n - 1) / n;
  const auto stage = [&](int tile) { return memory + Parts::own_part + tile % 2 * Parts::passing_part; };
  const auto fetch_passing = [&](int tile) {
    if (tile < end) fetch_part<!of_keys, n, chunks>(p, stage(tile), tile * n);
    ptx::cp_async_commit();
  };
  fetch_part<of_keys, own_rows, chunks>(p, memory, first);
  fetch_passing(begin);
  float sums[2][chunks][4] = {};
  for (int tile = begin; tile < end; ++tile) {
    ptx::cp_async_wait<0>();
    __syncthreads();  // all have waited, and are done with the other stage
    fetch_passing(tile + 1);
    const int passing = tile * n;
    if (of_keys ? passing + n <= own : passing > own + 15) continue;  // none of the warp's queries sees any of the keys
    const unsigned char* part = stage(tile);
    const auto* rows =
        reinterpret_cast<const float*>(of_keys ? part + 2 * Parts::passing_tile : memory + 2 * Parts::own_tile + 4 * warp_row);
    float scores[n / 8][4] = {}, dprobabilities[n / 8][4] = {};
    multiply_rows<T, chunks, n>(memory, warp_row, part, scores);
    multiply_rows<T, chunks, n>(memory + Parts::own_tile, warp_row, part + Parts::passing_tile, dprobabilities);
    differentiate_tile<of_keys, n>(p.in, rows, rows + (of_keys ? n : own_rows), own, passing, scores, dprobabilities);
    multiply_columns<T, chunks, n>(dprobabilities, part, sums[0]);
    if constexpr (of_keys) multiply_columns<T, chunks, n>(scores, part + Parts::passing_tile, sums[1]);
  }
  store_rows(p.dqkv + p.in.in_qkv(of_keys ? 1 : 0), p.in.qkv_stride, own, s, sums[0], p.in.scale, p.in.scale);
  if constexpr (of_keys) store_rows(p.dqkv + p.in.in_qkv(2), p.in.qkv_stride, own, s, sums[1], 1.0f, 1.0f);
}

template <class T>
void launch_gradients(AttentionShape shape, const AttentionGradient<T>& p, const Target& target) {
  if (!aligned16(p.in.qkv) || !aligned16(p.dout) || !aligned16(p.dqkv))
    throw std::invalid_argument("attention in bf16 and fp16 takes memory that begins at multiples of 16 bytes");
  with_head_size(shape.head_size, [&](auto size) {
    constexpr int head_size = decltype(size)::value;
    const dim3 grid = attention_grid(shape, own_rows);
    launch_sum_rows(shape, p, target);
    TRIREME_LAUNCH((gradients<T, head_size, true>), grid, dim3(threads), SharedParts<head_size>::bytes, target.stream, p);
    TRIREME_LAUNCH((gradients<T, head_size, false>), grid, dim3(threads), SharedParts<head_size>::bytes, target.stream, p);
  });
}

}  // namespace

std::int64_t attention_backward_scratch(AttentionShape shape) { return shape.rows.count() * shape.heads; }

void attention_backward(const Kernels::AttentionBackward& op, View scratch, const Target& target) {
  const std::int64_t rows = op.shape.rows.count() * op.shape.heads, size = rows * op.shape.head_size;
  if (rows == 0) return;
  with_type(op.qkv.type, [&](auto zero) {
    using T = decltype(zero);
    const AttentionGradient<T> p{.in = attention_input<T>(op.shape, op.qkv, op.dropout),
                                 .dout = elements<T>(op.dout, size),
                                 .out = elements<T>(op.out, size),
                                 .log_sum = elements<float>(op.log_sum, rows),
                                 .delta = elements<float>(scratch, rows),
                                 .dqkv = elements<T>(op.dqkv, 3 * size)};
    if constexpr (std::is_same_v<T, float>)
      launch_fp32(op.shape, p, target);
    else
      launch_gradients(op.shape, p, target);
  });
}

}  // namespace trireme::kernels::cuda
