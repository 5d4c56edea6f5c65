// What a .cu file finds when no CUDA compiler reads it: CUDA's words for kernels, and the functions that they use.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/simt/engine.h"
#include "kernels/simt/numbers.h"
#include "kernels/simt/types.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __launch_bounds__(...) static_assert(false, "TRIREME_KERNEL of kernels/cuda/instructions/ptx.cuh");
#define __shared__ static_assert(false, "TRIREME_SHARED and TRIREME_DYNAMIC_SHARED of kernels/cuda/instructions/ptx.cuh");

extern uint3 threadIdx, blockIdx;  // of the thread that runs
extern dim3 blockDim, gridDim;

inline void __syncthreads(std::source_location where = std::source_location::current()) {
  trireme::simt::barrier_sync(0, -1, where);
}
inline void __syncwarp(unsigned mask = ~0u, std::source_location where = std::source_location::current()) {
  trireme::simt::warp_collective(mask, "__syncwarp", nullptr, nullptr, where);
}

namespace trireme::simt {
template <class T>
T shuffle_value(unsigned mask, T value, int source, const char* name, Location where) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = shuffle(mask, bits, source, name, where);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
}  // namespace trireme::simt

// A lane outside the segment of `width` lanes: the caller's own value.
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, std::source_location where = std::source_location::current()) {
  const int i = trireme::simt::lane();
  return trireme::simt::shuffle_value(mask, value, i / width * width + source % width, "__shfl_sync", where);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32,
                  std::source_location where = std::source_location::current()) {
  const int i = trireme::simt::lane(), from = i ^ bits;
  return trireme::simt::shuffle_value(mask, value, from / width > i / width ? -1 : from, "__shfl_xor_sync", where);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, int delta, int width = 32,
                 std::source_location where = std::source_location::current()) {
  const int i = trireme::simt::lane();
  return trireme::simt::shuffle_value(mask, value, i % width < delta ? -1 : i - delta, "__shfl_up_sync", where);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, int delta, int width = 32,
                   std::source_location where = std::source_location::current()) {
  const int i = trireme::simt::lane();
  return trireme::simt::shuffle_value(mask, value, i % width + delta >= width ? -1 : i + delta, "__shfl_down_sync", where);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, std::source_location where = std::source_location::current()) {
  return trireme::simt::ballot(mask, predicate != 0, "__ballot_sync", where);
}
inline int __any_sync(unsigned mask, int predicate, std::source_location where = std::source_location::current()) {
  return trireme::simt::ballot(mask, predicate != 0, "__any_sync", where) != 0;
}
inline int __all_sync(unsigned mask, int predicate, std::source_location where = std::source_location::current()) {
  return trireme::simt::ballot(mask, predicate != 0, "__all_sync", where) == mask;
}

inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(std::uint64_t{a} * b >> 32); }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
