#include "validation/bench/kernels/backend.h"

namespace trireme::bench {

Backend make_backend(const kernels::cuda::CudaLimits& limits, int threads) {
  const auto compute = kernels::DType::bf16;  // width=2
  return {kernels::make_cpu_device(),
          kernels::make_cpu_kernels({threads, limits.rows.sequence, limits.attention.head_size, compute}), 1};
}

}  // namespace trireme::bench
