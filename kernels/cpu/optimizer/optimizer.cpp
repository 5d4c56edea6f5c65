// AdamW and the sums and counts around it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/ranges.h"
#include "kernels/cpu/simd.h"

namespace trireme::kernels {
namespace {

TRIREME_RANGE_FUNCTION
void adamw_range(std::int64_t n, AdamW step, float* weight, const float* gradient, float* first, float* second) {
  const float rest1 = 1.0f - step.beta1, rest2 = 1.0f - step.beta2;
  const float inverse1 = 1.0f / step.correction1, inverse2 = 1.0f / step.correction2;
  const float decay = step.learning_rate * step.weight_decay;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = step.gradient_scale * gradient[i];
    const float m = step.beta1 * first[i] + rest1 * g;
    const float v = step.beta2 * second[i] + rest2 * (g * g);
    first[i] = m;
    second[i] = v;
    const float update = m * inverse1 / (std::sqrt(v * inverse2) + step.epsilon);
    weight[i] -= step.learning_rate * update + decay * weight[i];
  }
}

TRIREME_RANGE_FUNCTION
double squares_of(std::int64_t n, const float* x) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

/// An exponent of ones is infinity or NaN.
TRIREME_RANGE_FUNCTION
double non_finite_in(std::int64_t n, const float* x) {
  constexpr std::uint32_t exponent = 0x7f800000;
  std::int64_t count = 0;
#pragma omp simd reduction(+ : count)
  for (std::int64_t i = 0; i < n; ++i) count += (std::bit_cast<std::uint32_t>(x[i]) & exponent) == exponent ? 1 : 0;
  return static_cast<double>(count);  // exact below 2^53
}

}  // namespace

void CpuKernels::adamw(AdamW step, View weight, View gradient, View first_moment, View second_moment) {
  const std::int64_t n = weight.count;
  float *w = floats(weight, n), *m = floats(first_moment, n), *v = floats(second_moment, n);
  const float* g = floats(gradient, n);
  parallel_ranges(limits_.threads, n, 1, 16, [&](std::int64_t first, std::int64_t last) {
    adamw_range(last - first, step, w + first, g + first, m + first, v + first);
  });
}

void CpuKernels::add(View y, View x) {
  float* to = floats(y, y.count);
  const float* from = floats(x, y.count);
  parallel_ranges(limits_.threads, y.count, 1, 16,
                  [&](std::int64_t first, std::int64_t last) { add_range(last - first, from + first, to + first); });
}

double CpuKernels::squared_norm(View x) { return sum_of_parts(x, squares_of); }

double CpuKernels::sum(View x) {
  const float* from = floats(x, x.count);
  return std::accumulate(from, from + x.count, 0.0);
}

std::int64_t CpuKernels::non_finite_count(View x) { return static_cast<std::int64_t>(sum_of_parts(x, non_finite_in)); }

/// Sum of `part` (elements, first element) over parts that follow from the number of elements alone, added in their order.
double CpuKernels::sum_of_parts(View x, double (*part)(std::int64_t, const float*)) {
  const float* from = floats(x, x.count);
  double* sums = partial_.fp64();
  const std::int64_t parts = partial_.count;
  parallel_ranges(limits_.threads, parts, x.count / parts, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t start = x.count * i / parts, end = x.count * (i + 1) / parts;
      sums[i] = part(end - start, from + start);
    }
  });
  return std::accumulate(sums, sums + parts, 0.0);
}

}  // namespace trireme::kernels
