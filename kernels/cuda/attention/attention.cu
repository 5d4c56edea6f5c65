// Attention's forward pass on tensor cores (FlashAttention-2, Dao 2023): a block takes 64 queries of a head, 16 a warp, and
// visits the tiles of 64 keys up to its diagonal. cp.async brings the next tile of keys and values while this one is used;
// scores, probabilities and the sums of values stay in registers. Exponentials have base 2.
#include "kernels/cuda/attention/attention.cuh"
#include "kernels/cuda/attention/attention.h"

namespace trireme::kernels::cuda {
namespace {

constexpr int tile_rows = 64, warp_rows = 16, threads = 128;

/// What a thread holds of its two rows, lane / 4 and lane / 4 + 8 of the warp's 16: fragments of the values' sums, and, in base
/// 2, the largest score so far and the thread's share of the sum of exponentials
template <int size>
struct SoftmaxRows16 {
  float values[size / 8][4] = {};
  float maximum[2] = {-INFINITY, -INFINITY}, total[2] = {0, 0};
};
using Scores = float[tile_rows / 8][4];

/// Hides the keys after a row's own in the tile on the diagonal; with them go those past the sequence's end. row: the thread's
/// first one, within the tile
__device__ __forceinline__ void mask_scores(Scores& scores, int row) {
  const int key = static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
  for (int j = 0; j < tile_rows / 8; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (8 * j + key + i % 2 > row + i / 2 * 8) scores[j][i] = -INFINITY;
}

/// Scores become exponentials; what was summed before is scaled to the new maximum. The maximum is rounded before it is
/// subtracted by one fused operation, so that its rounding is common to all terms of a row and cancels.
template <int size>
__device__ __forceinline__ void exponentiate(Scores& scores, SoftmaxRows16<size>& rows, float scale) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float most = -INFINITY;
#pragma unroll
    for (int j = 0; j < tile_rows / 8; ++j) most = fmaxf(most, fmaxf(scores[j][2 * half], scores[j][2 * half + 1]));
    most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
    most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
    const float maximum = fmaxf(rows.maximum[half], most * scale);
    const float factor = ptx::exp2_approx(rows.maximum[half] - maximum);
    rows.maximum[half] = maximum;
    rows.total[half] *= factor;
#pragma unroll
    for (int j = 0; j < size / 8; ++j) {
      rows.values[j][2 * half] *= factor;
      rows.values[j][2 * half + 1] *= factor;
    }
#pragma unroll
    for (int j = 0; j < tile_rows / 8; ++j)
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        scores[j][i] = ptx::exp2_approx(fmaf(scores[j][i], scale, -maximum));
        rows.total[half] += scores[j][i];
      }
  }
}

/// Divides by the sums of exponentials; log_sum of row i of the head goes to log_sum[i]. row: the warp's first
template <class T, int size>
__device__ __forceinline__ void finish(const AttentionInput<T>& p, T* out, float* log_sum, int row, SoftmaxRows16<size>& rows) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float& total = rows.total[half];
    total += __shfl_xor_sync(~0u, total, 1);
    total += __shfl_xor_sync(~0u, total, 2);
    const int own = row + lane / 4 + 8 * half;
    constexpr float ln2 = 0.69314718f;
    if (lane % 4 == 0 && own < p.sequence) ptx::store(log_sum + own, ln2 * (rows.maximum[half] + log2f(total)));
  }
  store_rows(out, p.out_stride, row, p.sequence, rows.values, 1 / rows.total[0], 1 / rows.total[1]);
}

/// What dropout does to the probabilities of 64 keys from `key` on, after their sum was taken. query: the warp's first row
template <class T>
__device__ __forceinline__ void drop(const AttentionInput<T>& p, int query, int key, Scores& scores) {
#pragma unroll
  for (int j = 0; j < tile_rows / 8; ++j) {
    float factors[4];
    fragment_dropout(p, query, key + 8 * j, factors);
#pragma unroll
    for (int i = 0; i < 4; ++i) scores[j][i] *= factors[i];
  }
}

/// A tile of queries, two of keys, two of values
template <int size>
constexpr int shared_bytes = 5 * (tile_rows * size * 2);

/// Blocks a multiprocessor: as many as its 164 KiB of shared memory (sm_80) and its registers hold
template <class T, int size, bool with_dropout>
TRIREME_KERNEL((threads, size <= 80 ? 3 : 2), attend, AttentionInput<T> p, T* out, float* log_sum) {
  constexpr int chunks = size / 8, tile_bytes = tile_rows * size * 2;
  TRIREME_DYNAMIC_SHARED(queries, shared_bytes<size>);
  unsigned char* stages = queries + tile_bytes;                         // two, of keys and values
  const int query_tile = static_cast<int>(gridDim.x - 1 - blockIdx.x);  // those with the most keys come first
  const int warp_row = static_cast<int>(threadIdx.x) / 32 * warp_rows, first_row = query_tile * tile_rows + warp_row;
  const auto fetch = [&](unsigned char* to, int part, int tile) {
    fetch_tile<tile_rows, chunks, threads, true>(to, p.qkv + p.in_qkv(part), p.qkv_stride, tile * tile_rows, p.sequence, 0, size);
  };
  const auto fetch_stage = [&](int tile) {
    unsigned char* stage = stages + tile % 2 * 2 * tile_bytes;
    fetch(stage, 1, tile);
    fetch(stage + tile_bytes, 2, tile);
    ptx::cp_async_commit();
  };
  fetch(queries, 0, query_tile);
  fetch_stage(0);
  SoftmaxRows16<size> rows;
  for (int tile = 0; tile <= query_tile; ++tile) {
    ptx::cp_async_wait<0>();
    __syncthreads();  // all have waited; and all are done with the other stage
    if (tile < query_tile) fetch_stage(tile + 1);
    const unsigned char* stage = stages + tile % 2 * 2 * tile_bytes;
    Scores scores = {};
    multiply_rows<T, chunks, tile_rows>(queries, warp_row, stage, scores);
    if (tile == query_tile) mask_scores(scores, warp_row + static_cast<int>(threadIdx.x) % 32 / 4);
    exponentiate(scores, rows, p.scale * log2_e);
    if constexpr (with_dropout) drop(p, first_row, tile * tile_rows, scores);
    multiply_columns<T, chunks, tile_rows>(scores, stage + tile_bytes, rows.values);
  }
  finish(p, out + p.in_out(), log_sum + p.in_rows(), first_row, rows);
}

}  // namespace

void attention(AttentionShape shape, View qkv, Dropout dropout, View out, View log_sum, const Target& target) {
  if (shape.rows.count() * shape.heads == 0) return;
  with_type(qkv.type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, float>) {
      attention_fp32(shape, qkv, dropout, out, log_sum, target);
    } else {
      const std::int64_t vectors = shape.rows.count() * shape.heads;
      const AttentionInput<T> input = attention_input<T>(shape, qkv, dropout);
      T* to = elements<T>(out, vectors * shape.head_size);
      float* sums = elements<float>(log_sum, vectors);
      if (!aligned16(input.qkv) || !aligned16(to))
        throw std::invalid_argument("attention in bf16 and fp16 takes qkv and out at multiples of 16 bytes");
      with_head_size(shape.head_size, [&](auto head_size) {
        constexpr int size = decltype(head_size)::value;
        const dim3 grid = attention_grid(shape, tile_rows), block(threads);
        if (dropout.rate > 0)
          TRIREME_LAUNCH((attend<T, size, true>), grid, block, shared_bytes<size>, target.stream, input, to, sums);
        else
          TRIREME_LAUNCH((attend<T, size, false>), grid, block, shared_bytes<size>, target.stream, input, to, sums);
      });
    }
  });
}

}  // namespace trireme::kernels::cuda
