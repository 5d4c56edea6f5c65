#include "validation/bench/kernels/backend.h"

namespace trireme::bench {

Backend make_backend(const kernels::cuda::CudaLimits& limits, int threads) {
  return {kernels::make_cpu_device(), kernels::make_cpu_kernels({threads, limits.rows.sequence, limits.attention.head_size}), 1};
}

}  // namespace trireme::bench
