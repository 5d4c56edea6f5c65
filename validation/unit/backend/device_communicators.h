// Communicators for device memory on the simulated GPU, one to a rank: two of each form, on streams that run in the order of the
// test's way.
#pragma once

#include <memory>

#include "grid/mpi_communicator.h"
#include "grid/nccl_communicator.h"
#include "grid/staged_communicator.h"
#include "kernels/cuda/device.h"
#include "kernels/simt/nccl.h"
#include "validation/unit/grid/communicator_forms.h"
#include "validation/unit/simt/fixture.h"

namespace trireme::test {

enum class Carrier { staged, nccl };

inline constexpr std::int64_t small_staging = 8 << 10;  // bytes

struct DeviceCommunicators {
  explicit DeviceCommunicators(Carrier carrier) : compute(kernels::cuda::make_cuda_device(0)) {
    group = make(carrier);
    another = make(carrier);
  }
  std::unique_ptr<Communicator> make(Carrier carrier) {
    auto& host = dynamic_cast<grid::MpiCommunicator&>(world().everyone().group());
    auto stream = kernels::cuda::make_cuda_device(0);
    if (carrier == Carrier::nccl) return make_nccl_communicator(host, *compute, std::move(stream));
    return make_staged_communicator(host, *compute, std::move(stream), small_staging);
  }
  std::unique_ptr<kernels::cuda::CudaDevice> compute;
  std::unique_ptr<Communicator> group, another;
};

}  // namespace trireme::test
