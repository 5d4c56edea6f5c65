// What the forms of attention's backward pass share. With P = exp(S - log_sum) and the dropout factors F (FlashAttention-2, Dao,
// arXiv 2307.08691, algorithm 2):
//   dV = (F P)^T dO, dP = F (dO V^T), delta = rowsum(dO O), dS = P (dP - delta), dQ = scale dS K, dK = scale dS^T Q
#pragma once

#include "kernels/cuda/attention/attention.cuh"
#include "kernels/cuda/target.h"

namespace trireme::kernels::cuda {

template <class T>
struct AttentionGradient {
  AttentionInput<T> in;
  const T *dout, *out;   // [s, b, heads, head size]
  const float* log_sum;  // [b, heads, s]
  float* delta;          // [b, heads, s]
  T* dqkv;               // as qkv
};

/// score: before scaling. On return F P and dS.
__device__ __forceinline__ void differentiate(float& score, float& dprobability, float factor, float scale, float log_sum,
                                              float delta, bool visible) {
  const float p = visible ? ptx::exp2_approx(score * (scale * log2_e) - log_sum * log2_e) : 0.0f;
  dprobability = p * (factor * dprobability - delta);
  score = factor * p;
}

constexpr int delta_threads = 256, delta_rows = 32;  // of a block

/// delta = rowsum(dout * out), a warp a row
template <class T>
TRIREME_KERNEL((delta_threads), sum_rows, AttentionGradient<T> p) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  for (int i = warp; i < delta_rows; i += delta_threads / 32) {
    const int row = static_cast<int>(blockIdx.x) * delta_rows + i;
    if (row >= p.in.sequence) return;
    const std::int64_t at = p.in.in_out() + row * p.in.out_stride;
    float sum = 0;
    for (int c = lane; c < p.in.head_size; c += 32)
      sum += to_float(ptx::load<T>(p.dout + at + c)) * to_float(ptx::load<T>(p.out + at + c));
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
    if (lane == 0) ptx::store(p.delta + p.in.in_rows() + row, sum);
  }
}

template <class T>
void launch_sum_rows(AttentionShape shape, const AttentionGradient<T>& p, const Target& target) {
  TRIREME_LAUNCH(sum_rows<T>, attention_grid(shape, delta_rows), dim3(delta_threads), 0, target.stream, p);
}

/// All of the pass in fp32, on ordinary arithmetic
void launch_fp32(AttentionShape shape, const AttentionGradient<float>& p, const Target& target);

}  // namespace trireme::kernels::cuda
