// What attention's forward and backward pass share: where a head's vectors lie, its dropout and its products in the registers of
// mma.sync. Grids are [tiles, heads, samples]: a block works on one head of one sample.
#pragma once

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/cuda/gemm/tile.cuh"
#include "kernels/cuda/rows/dropout.cuh"
#include "kernels/cuda/views.h"

namespace trireme::kernels::cuda {

constexpr float log2_e = 1.4426950408889634f;

/// s positions, b samples: qkv [s, b, 3, heads, head size]; out and its gradient [s, b, heads, head size]; log_sum [b, heads, s].
template <class T>
struct AttentionInput {
  const T* qkv;
  int sequence, heads, head_size;
  std::int64_t qkv_stride, out_stride;  // elements from one position to the next
  std::int64_t first_head;              // global index of head 0
  float scale;                          // of the scores
  DropoutMask mask;

  /// The first element of the block's head and sample in qkv (part 0: queries, 1: keys, 2: values), in out, in log_sum
  __device__ __forceinline__ std::int64_t in_qkv(int part) const {
    return ((static_cast<std::int64_t>(blockIdx.z) * 3 + part) * heads + blockIdx.y) * head_size;
  }
  __device__ __forceinline__ std::int64_t in_out() const {
    return (static_cast<std::int64_t>(blockIdx.z) * heads + blockIdx.y) * head_size;
  }
  __device__ __forceinline__ std::int64_t in_rows() const {
    return (static_cast<std::int64_t>(blockIdx.z) * heads + blockIdx.y) * sequence;
  }
};

template <class T>
AttentionInput<T> attention_input(AttentionShape shape, View qkv, const Dropout& dropout) {
  const std::int64_t row = shape.rows.batch * shape.heads * shape.head_size;
  return {elements<T>(qkv, shape.rows.sequence * 3 * row),
          narrow(shape.rows.sequence),
          narrow(shape.heads),
          narrow(shape.head_size),
          3 * row,
          row,
          shape.first_head,
          static_cast<float>(1 / std::sqrt(static_cast<double>(shape.head_size))),
          mask_of(dropout)};
}

/// [tiles of `tile` positions, heads, samples]
inline dim3 attention_grid(AttentionShape shape, int tile) {
  return {blocks_of(shape.rows.sequence, tile), grid_size(shape.heads), grid_size(shape.rows.batch)};
}

/// Calls work(std::integral_constant<int, head_size>) for the sizes that tensor-core kernels are made for.
template <class Work>
void with_head_size(std::int64_t head_size, const Work& work) {
  switch (head_size) {
    case 64:
      return work(std::integral_constant<int, 64>{});
    case 80:
      return work(std::integral_constant<int, 80>{});
    case 96:
      return work(std::integral_constant<int, 96>{});
    case 128:
      return work(std::integral_constant<int, 128>{});
    default:
      throw std::invalid_argument("attention in bf16 and fp16 takes head sizes 64, 80, 96 and 128, not " +
                                  std::to_string(head_size));
  }
}

/// Bits of keys 4 group .. 4 group + 3 of a query: set where dropout keeps the probability
template <class T>
__device__ __forceinline__ unsigned kept_keys(const AttentionInput<T>& p, int query, int group) {
  const auto row = static_cast<std::uint64_t>((p.first_head + blockIdx.y) * p.sequence + query);
  float factors[4];
  dropout_factors(p.mask, blockIdx.z, row * static_cast<unsigned>((p.sequence + 3) / 4) + static_cast<unsigned>(group), factors);
  unsigned bits = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) bits |= (factors[i] > 0 ? 1u : 0u) << i;
  return bits;
}

/// What dropout multiplies an accumulator [16 queries from `query`, 8 keys from `key`] by; key is a multiple of 4. Philox gives
/// four keys of a query, a lane holds two of them in rows lane / 4 and lane / 4 + 8: even lanes ask for the first row, odd ones
/// for the second, and they exchange.
template <class T>
__device__ __forceinline__ void fragment_dropout(const AttentionInput<T>& p, int query, int key, float (&factors)[4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const bool odd = lane % 2 != 0;
  const unsigned own = kept_keys(p, query + lane / 4 + (odd ? 8 : 0), key / 4 + lane % 4 / 2);
  const unsigned other = __shfl_xor_sync(~0u, own, 1);
  const unsigned bits[2] = {odd ? other >> 2 : own, odd ? own >> 2 : other};
#pragma unroll
  for (int i = 0; i < 4; ++i) factors[i] = (bits[i / 2] >> i % 2 & 1) != 0 ? p.mask.scale : 0.0f;
}

/// The same of the transposed accumulator [16 keys from `key`, 8 queries from `query`]: a lane holds keys lane / 4 and + 8 of two
/// queries, each from another group of four; the four lanes of those keys ask for one group each.
template <class T>
__device__ __forceinline__ void fragment_dropout_transposed(const AttentionInput<T>& p, int key, int query, float (&factors)[4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32, row = lane / 4;
  const unsigned own = kept_keys(p, query + lane % 4 * 2 + row % 2, key / 4 + row / 4 + row % 4 / 2 * 2);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned bits = __shfl_sync(~0u, own, lane / 16 * 16 + i * 4 + lane % 4);
    factors[i] = (bits >> row % 4 & 1) != 0 ? p.mask.scale : 0.0f;
  }
}

/// Two neighbours of a row, rounded, as mma.sync and memory have them
template <class T>
__device__ __forceinline__ std::uint32_t pair_of(float first, float second) {
  const T pair[2] = {from_float<T>(first), from_float<T>(second)};
  std::uint32_t bits;
  memcpy(&bits, pair, sizeof(bits));
  return bits;
}

/// Operand A [16, 16]: two accumulators [16, 8] side by side, rounded
template <class T>
__device__ __forceinline__ void accumulators_to_a(std::uint32_t (&a)[4], const float (&left)[4], const float (&right)[4]) {
  a[0] = pair_of<T>(left[0], left[1]), a[1] = pair_of<T>(left[2], left[3]);
  a[2] = pair_of<T>(right[0], right[1]), a[3] = pair_of<T>(right[2], right[3]);
}

/// sums [16, n] += rows row .. row + 15 of a tile times the rows of another one, transposed
template <class T, int chunks, int n>
__device__ __forceinline__ void multiply_rows(const unsigned char* own, int row, const unsigned char* passing,
                                              float (&sums)[n / 8][4]) {
#pragma unroll
  for (int chunk = 0; chunk < chunks; chunk += 2) {
    std::uint32_t a[4];
    load_a<chunks>(a, own, row, chunk);
#pragma unroll
    for (int j = 0; j < n / 8; j += 2) {
      std::uint32_t left[2], right[2];
      load_b<chunks>(left, right, passing, 8 * j, chunk);
      ptx::mma_m16n8k16<T>(sums[j], a, left);
      ptx::mma_m16n8k16<T>(sums[j + 1], a, right);
    }
  }
}

/// sums [16, 8 chunks] += weights [16, n] times a tile of n rows
template <class T, int chunks, int n>
__device__ __forceinline__ void multiply_columns(const float (&weights)[n / 8][4], const unsigned char* passing,
                                                 float (&sums)[chunks][4]) {
#pragma unroll
  for (int j = 0; j < n / 8; j += 2) {
    std::uint32_t a[4];
    accumulators_to_a<T>(a, weights[j], weights[j + 1]);
#pragma unroll
    for (int chunk = 0; chunk < chunks; chunk += 2) {
      std::uint32_t left[2], right[2];
      load_b_transposed<chunks>(left, right, passing, 8 * j, chunk);
      ptx::mma_m16n8k16<T>(sums[chunk], a, left);
      ptx::mma_m16n8k16<T>(sums[chunk + 1], a, right);
    }
  }
}

/// The warp's accumulators [16, 8 n] to rows row .. row + 15 of `to`, those before `rows`; rows lane / 4 times upper, those of
/// + 8 times lower. A lane has two neighbours of a row, of each accumulator: half a sector with the three lanes beside it. So
/// even lanes take those of the lane beside them in one accumulator, odd ones in the next, and the four fill a sector together.
template <class T, int n>
__device__ __forceinline__ void store_rows(T* to, std::int64_t stride, int row, int rows, const float (&sums)[n][4], float upper,
                                           float lower) {
  static_assert(n % 2 == 0);
  const int lane = static_cast<int>(threadIdx.x) % 32, first = row + lane / 4;
  const bool odd = lane % 2 != 0;
  T* at = to + first * stride + (odd ? 8 : 0) + lane % 4 / 2 * 4;
#pragma unroll
  for (int j = 0; j < n; j += 2)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float factor = half == 0 ? upper : lower;
      const std::uint32_t left = pair_of<T>(sums[j][2 * half] * factor, sums[j][2 * half + 1] * factor);
      const std::uint32_t right = pair_of<T>(sums[j + 1][2 * half] * factor, sums[j + 1][2 * half + 1] * factor);
      const std::uint32_t other = __shfl_xor_sync(~0u, odd ? left : right, 1);
      if (first + 8 * half < rows) ptx::store(at + 8 * half * stride + 8 * j, odd ? uint2{other, right} : uint2{left, other});
    }
}

}  // namespace trireme::kernels::cuda
