#include "kernels/cpu/cpu_kernels.h"

#include <algorithm>

#include <omp.h>

namespace trireme::kernels {

CpuKernels::CpuKernels(CpuLimits limits) : limits_(limits), device_(make_cpu_device()), arena_(*device_, "kernels") {
  if (limits.threads < 1) throw std::logic_error(fmt::format("kernels on {} threads", limits.threads));
  constexpr std::int64_t reduction_parts = 256;
  omp_set_num_threads(limits.threads);  // the BLAS, built for OpenMP, follows
  attention_ = arena_.take(DType::fp32, limits.threads * attention_scratch_elements());
  tile_ = arena_.take(DType::fp32, ProductScratch::tile_elements);
  if (limits.compute != DType::fp32) blocks_ = arena_.take(DType::fp32, 2 * ProductScratch::block_elements);
  partial_ = arena_.take(DType::fp64, reduction_parts);
  arena_.seal();
}

ProductScratch CpuKernels::scratch_of(DType type) const {
  ProductScratch scratch{.threads = limits_.threads, .tile = tile_.fp32()};
  if (type == DType::fp32) return scratch;
  require_scratch(type);
  scratch.a = blocks_.fp32(), scratch.b = scratch.a + ProductScratch::block_elements;
  return scratch;
}

void CpuKernels::require_scratch(DType type) const {
  if (type != DType::fp32 && limits_.compute == DType::fp32)
    throw std::logic_error("an operation on elements of 2 bytes, where scratch was taken for fp32");
}

std::unique_ptr<Kernels> make_cpu_kernels(CpuLimits limits) { return std::make_unique<CpuKernels>(limits); }

}  // namespace trireme::kernels
