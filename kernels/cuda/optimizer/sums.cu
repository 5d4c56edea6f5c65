// Sums of flat buffers in double, in two stages: a number of blocks that follows from the number of elements, then one block.
#include <algorithm>

#include "kernels/cuda/optimizer/flat.cuh"
#include "kernels/cuda/optimizer/optimizer.h"
#include "kernels/cuda/rows/row.cuh"
#include "kernels/cuda/views.h"

namespace trireme::kernels::cuda {
namespace {

struct Square {
  static __device__ __forceinline__ double of(float x) { return static_cast<double>(x) * static_cast<double>(x); }
};
struct Value {
  static __device__ __forceinline__ double of(float x) { return x; }
};
struct NonFinite {
  static __device__ __forceinline__ double of(float x) { return x - x == 0 ? 0 : 1; }
};

/// parts [gridDim.x]
template <class Term, class T, bool aligned>
TRIREME_KERNEL((flat_threads), sum_terms, std::int64_t n, const T* x, double* parts) {
  TRIREME_SHARED(double, warps, row_warps);
  double sum[1] = {0};
#pragma unroll 4
  for (std::int64_t i = flat_index(); i < n; i += static_cast<std::int64_t>(gridDim.x) * flat_elements) {
    const Quad<T> quad = fetch_quad<aligned>(x, i, n);
#pragma unroll
    for (int j = 0; j < 4; ++j) sum[0] += Term::of(to_float(quad.element[j]));
  }
  block_sum(sum, warps);
  if (threadIdx.x == 0) ptx::store(parts + blockIdx.x, sum[0]);
}

TRIREME_KERNEL((flat_threads), sum_parts, int count, const double* parts, double* result) {
  TRIREME_SHARED(double, warps, row_warps);
  double sum[1] = {0};
  for (int i = static_cast<int>(threadIdx.x); i < count; i += flat_threads) sum[0] += ptx::load<double>(parts + i);
  block_sum(sum, warps);
  if (threadIdx.x == 0) ptx::store(result, sum[0]);
}

__global__ void sum_cells(std::int64_t n, const double* x, double* result) {
  double sum = 0;
#pragma unroll 8
  for (std::int64_t i = 0; i < n; ++i) sum += ptx::load<double>(x + i);
  ptx::store(result, sum);
}

template <class Term, class T = float>
void launch_sum(View x, View result, View scratch, const Target& target) {
  const std::int64_t blocks = sum_scratch(x.count);
  const T* from = elements<T>(x, x.count);
  auto* parts = elements<double>(scratch, blocks);
  with_flag(aligned16(from), [&](auto aligned) {
    TRIREME_LAUNCH((sum_terms<Term, T, decltype(aligned)::value>), dim3(grid_size(blocks)), dim3(flat_threads), 0, target.stream,
                   x.count, from, parts);
  });
  TRIREME_LAUNCH(sum_parts, dim3(1), dim3(flat_threads), 0, target.stream, narrow(blocks), parts, elements<double>(result, 1));
}

}  // namespace

std::int64_t sum_scratch(std::int64_t n) { return std::clamp<std::int64_t>(n / (8 * flat_elements), 1, 1056); }

void squared_norm(View x, View result, View scratch, const Target& target) { launch_sum<Square>(x, result, scratch, target); }
void sum(View x, View result, View scratch, const Target& target) {
  if (x.type != DType::fp64) return launch_sum<Value>(x, result, scratch, target);
  TRIREME_LAUNCH(sum_cells, dim3(1), dim3(1), 0, target.stream, x.count, elements<double>(x, x.count),
                 elements<double>(result, 1));
}
void non_finite_count(View x, View result, View scratch, const Target& target) {
  with_type(x.type, [&](auto zero) { launch_sum<NonFinite, decltype(zero)>(x, result, scratch, target); });
}

}  // namespace trireme::kernels::cuda
