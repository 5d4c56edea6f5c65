// Attention's forward pass in fp32: a block takes 32 queries of a head, 8 a warp, and visits the tiles of 32 keys up to its
// diagonal. For the scores a lane has one key, for the sums of values columns lane, lane + 32 ... Exponentials have base 2.
#include "kernels/cuda/attention/attention.cuh"
#include "kernels/cuda/attention/attention.h"

namespace trireme::kernels::cuda {
namespace {

constexpr int tile_rows = 32, warps = 4, warp_rows = tile_rows / warps, threads = 32 * warps;

/// Floats from one row of a tile to the next: an odd number of 16 bytes, so that accesses of 16 bytes to a column of 8 rows meet
/// no bank conflict
__host__ __device__ constexpr int row_stride(int head_size) { return ((head_size + 3) / 4 | 1) * 4; }

__host__ __device__ constexpr int shared_bytes(int head_size) { return 4 * 3 * tile_rows * row_stride(head_size); }

/// Rows first .. first + 31 of a part of qkv into a tile; 0 past the sequence's end and past the head's
__device__ __forceinline__ void fetch(const AttentionInput<float>& p, int part, int first, float* tile) {
  const int lane = static_cast<int>(threadIdx.x) % 32, stride = row_stride(p.head_size);
  for (int i = static_cast<int>(threadIdx.x) / 32; i < tile_rows; i += warps) {
    const float* row = p.qkv + p.in_qkv(part) + (first + i) * p.qkv_stride;
    for (int column = lane; column < stride; column += 32)
      tile[i * stride + column] = first + i < p.sequence && column < p.head_size ? ptx::load<float>(row + column) : 0.0f;
  }
}

/// Of the warp's rows with the lane's key
__device__ __forceinline__ void multiply_keys(const float* queries, const float* keys, int head_size,
                                              float (&scores)[warp_rows]) {
  const int lane = static_cast<int>(threadIdx.x) % 32, stride = row_stride(head_size);
#pragma unroll 2
  for (int column = 0; column < head_size; column += 4) {
    const auto k = ptx::load<float4>(keys + lane * stride + column);
#pragma unroll
    for (int r = 0; r < warp_rows; ++r) {
      const auto q = ptx::load<float4>(queries + r * stride + column);
      scores[r] += q.x * k.x + q.y * k.y + q.z * k.z + q.w * k.w;
    }
  }
}

/// What a warp knows of a row: in base 2, the largest score so far and the lane's share of the sum of exponentials; its columns
/// of the sum of values
template <int columns>
struct SoftmaxRow {
  float maximum = -INFINITY, total = 0, values[columns] = {};
};

/// The exponential of the lane's score; what was summed before is scaled to the new maximum. The maximum is rounded before it is
/// subtracted by one fused operation, so that its rounding is common to all terms of a row and cancels.
template <int columns>
__device__ __forceinline__ float exponentiate(float score, SoftmaxRow<columns>& row, float scale) {
  float most = score;
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, distance));
  const float maximum = fmaxf(row.maximum, most * scale), factor = ptx::exp2_approx(row.maximum - maximum);
  const float exponential = ptx::exp2_approx(fmaf(score, scale, -maximum));
  row.maximum = maximum;
  row.total = row.total * factor + exponential;
#pragma unroll
  for (int c = 0; c < columns; ++c) row.values[c] *= factor;
  return exponential;
}

template <int columns>
__device__ __forceinline__ void multiply_values(const float (&probabilities)[warp_rows], const float* values, int head_size,
                                                SoftmaxRow<columns> (&rows)[warp_rows]) {
  const int lane = static_cast<int>(threadIdx.x) % 32, stride = row_stride(head_size);
#pragma unroll 4
  for (int key = 0; key < tile_rows; ++key) {
    float v[columns];
#pragma unroll
    for (int c = 0; c < columns; ++c) v[c] = lane + 32 * c < head_size ? values[key * stride + lane + 32 * c] : 0.0f;
#pragma unroll
    for (int r = 0; r < warp_rows; ++r) {
      const float probability = __shfl_sync(~0u, probabilities[r], key);
#pragma unroll
      for (int c = 0; c < columns; ++c) rows[r].values[c] += probability * v[c];
    }
  }
}

template <int columns>
__device__ __forceinline__ void finish(const AttentionInput<float>& p, int query, float* out, float* log_sum,
                                       const SoftmaxRow<columns>& row) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float total = row.total;
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) total += __shfl_xor_sync(~0u, total, distance);
  if (query >= p.sequence) return;
#pragma unroll
  for (int c = 0; c < columns; ++c)
    if (lane + 32 * c < p.head_size) ptx::store(out + query * p.out_stride + lane + 32 * c, row.values[c] / total);
  constexpr float ln2 = 0.69314718f;
  if (lane == 0) ptx::store(log_sum + query, ln2 * (row.maximum + log2f(total)));
}

/// columns: 32 times as many are at least the head's
template <int columns>
TRIREME_KERNEL((threads, 1), attend_fp32, AttentionInput<float> p, float* out, float* log_sum) {
  TRIREME_DYNAMIC_SHARED(memory, shared_bytes(32 * columns));
  const int stride = row_stride(p.head_size), lane = static_cast<int>(threadIdx.x) % 32;
  auto* queries = reinterpret_cast<float*>(memory);
  float *keys = queries + tile_rows * stride, *values = keys + tile_rows * stride;
  const int query_tile = static_cast<int>(gridDim.x - 1 - blockIdx.x);  // those with the most keys come first
  const int warp_row = static_cast<int>(threadIdx.x) / 32 * warp_rows, first_query = query_tile * tile_rows + warp_row;
  const float scale = p.scale * log2_e;
  fetch(p, 0, query_tile * tile_rows, queries);
  SoftmaxRow<columns> rows[warp_rows];
  for (int tile = 0; tile <= query_tile; ++tile) {
    const int key = tile * tile_rows + lane;
    __syncthreads();  // all are done with the last tile
    fetch(p, 1, tile * tile_rows, keys);
    fetch(p, 2, tile * tile_rows, values);
    __syncthreads();
    float scores[warp_rows] = {};
    multiply_keys(queries + warp_row * stride, keys, p.head_size, scores);
#pragma unroll
    for (int r = 0; r < warp_rows; ++r) {
      const int query = first_query + r;  // with the keys after it go those past the sequence's end
      const bool visible = key <= query;
      scores[r] = exponentiate(visible ? scores[r] : -INFINITY, rows[r], scale);
      if (p.mask.threshold > 0) {
        const unsigned kept = kept_keys(p, query, key / 4);
        scores[r] *= (kept >> key % 4 & 1) != 0 ? p.mask.scale : 0.0f;
      }
    }
    multiply_values(scores, values, p.head_size, rows);
  }
#pragma unroll
  for (int r = 0; r < warp_rows; ++r) finish(p, first_query + r, out + p.in_out(), log_sum + p.in_rows(), rows[r]);
}

}  // namespace

void attention_fp32(AttentionShape shape, View qkv, Dropout dropout, View out, View log_sum, const Target& target) {
  if (shape.head_size > attention_fp32_limit)
    throw std::invalid_argument("attention in fp32 takes head sizes up to " + std::to_string(attention_fp32_limit) + ", not " +
                                std::to_string(shape.head_size));
  const std::int64_t vectors = shape.rows.count() * shape.heads;
  const AttentionInput<float> input = attention_input<float>(shape, qkv, dropout);
  auto *to = elements<float>(out, vectors * shape.head_size), *sums = elements<float>(log_sum, vectors);
  const dim3 grid = attention_grid(shape, tile_rows), block(threads);
  const int shared = shared_bytes(input.head_size);
  if (shape.head_size <= 64)
    TRIREME_LAUNCH(attend_fp32<2>, grid, block, shared, target.stream, input, to, sums);
  else if (shape.head_size <= 128)
    TRIREME_LAUNCH(attend_fp32<4>, grid, block, shared, target.stream, input, to, sums);
  else
    TRIREME_LAUNCH(attend_fp32<8>, grid, block, shared, target.stream, input, to, sums);
}

}  // namespace trireme::kernels::cuda
