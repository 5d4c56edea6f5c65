// Communicator over device memory by way of pinned host memory and MPI: several ranks may share one GPU, on one host or many.
#pragma once

#include <memory>

#include "grid/communicator.h"

namespace trireme::grid {

class MpiCommunicator;

/// Pinned memory of one communicator at most, but for groups, which take what their transfers have.
inline constexpr std::int64_t staging_limit = std::int64_t{32} << 20;

/// Every member of `host`. A call downloads when the device has done what it was given before, sends by MPI, and uploads; long
/// ones in rounds through `staging_bytes` of pinned memory, which is taken at first use. Sums are those of MpiCommunicator. The
/// host goes on, and does its part whenever it polls or waits. `stream` is another Device on the same GPU; the rest outlives it.
std::unique_ptr<Communicator> make_staged_communicator(MpiCommunicator& host, kernels::Device& compute,
                                                       std::unique_ptr<kernels::Device> stream,
                                                       std::int64_t staging_bytes = staging_limit);

}  // namespace trireme::grid
