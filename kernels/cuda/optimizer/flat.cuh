// Flat buffers, four elements at a time.
#pragma once

#include <cstdint>

#include "kernels/cuda/instructions/numbers.cuh"

namespace trireme::kernels::cuda {

constexpr int flat_threads = 256, flat_elements = 4 * flat_threads;  // of a block

/// First element of the thread's quad, of a grid that covers all
__device__ __forceinline__ std::int64_t flat_index() {
  return 4 * (static_cast<std::int64_t>(blockIdx.x) * flat_threads + threadIdx.x);
}

}  // namespace trireme::kernels::cuda
