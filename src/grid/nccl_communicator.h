// Communicator over device memory by NCCL, one rank a GPU.
#pragma once

#include <memory>

#include "grid/communicator.h"
#include "kernels/cuda/device.h"

namespace trireme::grid {

class MpiCommunicator;

/// Every member of `host`, at a start: all ranks make the communicators that they share in one order. Connects them, and uses
/// every connection of a ring once, so that none is made later. Calls run on `stream`, another Device on the GPU of `compute`;
/// the host never waits in one. An error of NCCL, also one that it finds while nobody calls, is a std::runtime_error that names
/// GPU and call and comes out of the call or of the wait: one rank alone has it, so it must end all (World::abort). The rest
/// outlives it.
std::unique_ptr<Communicator> make_nccl_communicator(MpiCommunicator& host, kernels::Device& compute,
                                                     std::unique_ptr<kernels::cuda::CudaDevice> stream);

}  // namespace trireme::grid
