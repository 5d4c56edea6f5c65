#include "kernels/cpu/cpu_kernels.h"

#include <algorithm>

#include <omp.h>

namespace trireme::kernels {

CpuKernels::CpuKernels(CpuLimits limits) : limits_(limits), device_(make_cpu_device()), arena_(*device_, "kernels") {
  if (limits.threads < 1) throw std::logic_error(fmt::format("kernels on {} threads", limits.threads));
  constexpr std::int64_t product_elements = 1 << 18, reduction_parts = 256;
  omp_set_num_threads(limits.threads);  // the BLAS, built for OpenMP, follows
  attention_ = arena_.take(DType::fp32, limits.threads * 2 * query_tile * whole_vectors(limits.sequence));
  product_ = arena_.take(DType::fp32, product_elements);
  partial_ = arena_.take(DType::fp64, reduction_parts);
  arena_.seal();
}

std::unique_ptr<Kernels> make_cpu_kernels(CpuLimits limits) { return std::make_unique<CpuKernels>(limits); }

}  // namespace trireme::kernels
