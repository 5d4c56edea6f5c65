// CUDA's stream, for headers that hosts without the toolkit read too.
#pragma once

struct CUstream_st;

namespace trireme::kernels::cuda {

/// A cudaStream_t. Launchers return when the work is given, not when it is done.
using Stream = CUstream_st*;

}  // namespace trireme::kernels::cuda
