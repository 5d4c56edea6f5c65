#include "kernels/cuda/device.h"
#include "validation/bench/kernels/backend.h"

namespace trireme::bench {

Backend make_backend(const kernels::cuda::CudaLimits& limits, int) {
  auto device = kernels::cuda::make_cuda_device(0);
  const std::int64_t bytes = kernels::cuda::scratch_bytes(limits);
  const kernels::View scratch{device->allocate(bytes), bytes / 4, kernels::DType::fp32};  // until the program ends
  auto kernels = kernels::cuda::make_cuda_kernels(*device, device->target(), scratch);
  return {std::move(device), std::move(kernels), 10};
}

}  // namespace trireme::bench
