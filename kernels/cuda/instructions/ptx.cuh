// The one door to what is not plain C++: special instructions, shared memory, launches, loads and stores that are counted.
// A CUDA compiler finds inline PTX here, the host's compiler the simulator. Kernels include nothing of either.
//
//   TRIREME_KERNEL((threads, blocks), name, parameters...) { ... }   a kernel for blocks of at most so many threads, of which a
//                                              multiprocessor is to hold so many; the latter may be left out
//   TRIREME_SHARED(float, sums, 32);           an array in shared memory
//   TRIREME_DYNAMIC_SHARED(tiles, most);       unsigned char*, as many bytes as the launch says, at most `most`, aligned to 128
//   TRIREME_LAUNCH((kernel<T>), grid, block, shared_bytes, stream, arguments...);
#pragma once

#if defined(__CUDACC__)
#include "kernels/cuda/instructions/ptx_nvcc.cuh"
#else
#include "kernels/simt/ptx.h"
#endif

namespace trireme::kernels::cuda {
using bf16 = __nv_bfloat16;
using fp16 = __half;
}  // namespace trireme::kernels::cuda
