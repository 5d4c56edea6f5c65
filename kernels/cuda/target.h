// Where a launcher gives its work. For headers that hosts without the toolkit read too.
#pragma once

struct CUstream_st;

namespace trireme::kernels::cuda {

/// A cudaStream_t
using Stream = CUstream_st*;

/// A stream, and what of its GPU a launcher may choose by; CudaDevice::target() makes it. The defaults are an A100's.
/// Launchers return when the work is given, not when it is done.
struct Target {
  Stream stream = nullptr;
  int capability = 80;  // compute capability: 10 major + minor
  int multiprocessors = 108;
};

}  // namespace trireme::kernels::cuda
