// Flat buffers, four elements at a time.
#pragma once

#include <cstdint>

#include "kernels/cuda/bugs.h"
#include "kernels/cuda/numbers.cuh"

namespace trireme::kernels::cuda {

constexpr int flat_threads = 256, flat_elements = 4 * flat_threads;  // of a block

/// Elements i .. i + 3 of n, 0 past the end. `aligned`: x begins at a multiple of a quad's bytes.
template <bool aligned, class T>
__device__ __forceinline__ Quad<T> fetch_quad(const T* x, std::int64_t i, std::int64_t n) {
  if constexpr (aligned) {
    if (i + 4 <= n) return ptx::load<Quad<T>>(x + i);
  }
  Quad<T> quad;
#pragma unroll
  for (int j = 0; j < 4; ++j) quad.element[j] = i + j < n ? ptx::load<T>(x + i + j) : from_float<T>(0);
  return quad;
}

template <bool aligned, class T>
__device__ __forceinline__ void put_quad(T* x, std::int64_t i, std::int64_t n, const Quad<T>& quad) {
  if (aligned && i + 4 <= n) {
    ptx::store(x + i, quad);
    return;
  }
#pragma unroll
  for (int j = 0; j < 4; ++j)
    if (i + j < n && !TRIREME_BUG(flat_rest)) ptx::store(x + i + j, quad.element[j]);
}

/// First element of the thread's quad, of a grid that covers all
__device__ __forceinline__ std::int64_t flat_index() {
  return 4 * (static_cast<std::int64_t>(blockIdx.x) * flat_threads + threadIdx.x);
}

}  // namespace trireme::kernels::cuda
