// The CUDA form of Kernels, over the launchers of this folder.
#pragma once

#include <memory>

#include "kernels/cuda/target.h"
#include "kernels/kernels.h"

namespace trireme::kernels::cuda {

/// The largest operations that scratch must suffice for. Rows and columns as one rank holds them.
struct CudaLimits {
  Rows rows;                          // of a microbatch
  std::int64_t hidden = 0;            // width of the residual stream
  AttentionShape attention;           // rows as above
  std::vector<LinearShape> products;  // every linear layer
  std::int64_t reduced = 0;           // elements of the longest squared norm, sum or count
};

/// Bytes of scratch that operations within the limits need
std::int64_t scratch_bytes(const CudaLimits& limits);

/// Work is given to the target's stream, in the order of the calls; only those that return a number wait for it. `scratch` is
/// device memory, used by one operation at a time; one that needs more is a std::logic_error. Its copies to the host go by
/// `device`, whose calls must be ordered with the stream.
std::unique_ptr<Kernels> make_cuda_kernels(Device& device, const Target& target, View scratch);

}  // namespace trireme::kernels::cuda
