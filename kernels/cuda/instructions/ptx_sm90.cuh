// The door of ptx.cuh with the instructions that only sm_90a has: mbarriers, TMA, wgmma, fences between the proxies. For sources
// named *_sm90.cu, which are compiled for sm_90a alone.
//
//   const __grid_constant__ ptx::TensorMap map   a kernel's parameter, made by ptx::make_tensor_map
//   TRIREME_TILES_SHARED(tiles, most);           dynamic shared memory, aligned to 1024 bytes for the 128-byte swizzle
#pragma once

#include "kernels/cuda/instructions/ptx.cuh"

#if defined(__CUDACC__)
#include "kernels/cuda/instructions/ptx_sm90_nvcc.cuh"
#else
#include "kernels/simt/ptx_sm90.h"
#endif
