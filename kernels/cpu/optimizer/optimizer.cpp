// AdamW, and the sums, counts and casts around it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/half.h"
#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/ranges.h"
#include "kernels/cpu/simd.h"

namespace trireme::kernels {
namespace {

TRIREME_RANGE_FUNCTION
void adamw_range(std::int64_t n, AdamW step, float gradient_scale, float* weight, const float* gradient, float* first,
                 float* second) {
  const auto beta1 = static_cast<float>(step.beta1), beta2 = static_cast<float>(step.beta2);
  const auto rest1 = static_cast<float>(1 - step.beta1), rest2 = static_cast<float>(1 - step.beta2);
  const float inverse1 = 1.0f / step.correction1, inverse2 = 1.0f / step.correction2;
  const float decay = step.learning_rate * step.weight_decay;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = gradient_scale * gradient[i];
    const float m = beta1 * first[i] + rest1 * g;
    const float v = beta2 * second[i] + rest2 * (g * g);
    first[i] = m;
    second[i] = v;
    const float update = m * inverse1 / (std::sqrt(v * inverse2) + step.epsilon);
    weight[i] -= step.learning_rate * update + decay * weight[i];
  }
}

void narrow_range(std::int64_t n, DType type, const float* x, std::uint16_t* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = type == DType::bf16 ? base::to_bf16(x[i]) : base::to_fp16(x[i]);
}

void widen_range(std::int64_t n, DType type, const std::uint16_t* x, float* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = type == DType::bf16 ? base::from_bf16(x[i]) : base::from_fp16(x[i]);
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

void CpuKernels::clip(double clip, View squares, View record) {
  const double* from = cells(squares, squares.count);
  double* to = cells(record, StepOutcome::cells);
  const double norm = std::sqrt(std::accumulate(from, from + squares.count, 0.0));
  to[StepOutcome::norm_cell] = norm;
  to[StepOutcome::scale_cell] = clip > 0 ? std::min(1.0, clip / (norm + 1e-6)) : 1.0;
  to[StepOutcome::skipped_cell] = std::isfinite(norm) ? 0 : 1;
}

void CpuKernels::adamw(AdamW step, View weight, View gradient, View first_moment, View second_moment, View copy) {
  const std::int64_t n = weight.count;
  const double* facts = cells(step.record, StepOutcome::cells);
  float *w = floats(weight, n), *m = floats(first_moment, n), *v = floats(second_moment, n);
  const float* g = floats(gradient, n);
  if (copy && copy.count < n) throw std::logic_error("a copy shorter than the weights");
  if (facts[StepOutcome::skipped_cell] != 0) return;
  const auto scale = static_cast<float>(facts[StepOutcome::scale_cell]);
  parallel_ranges(limits_.threads, n, 1, 16, [&](std::int64_t first, std::int64_t last) {
    adamw_range(last - first, step, scale, w + first, g + first, m + first, v + first);
  });
  if (copy.type == DType::fp32 && copy)
    std::copy_n(w, n, copy.fp32());
  else if (copy)
    cast(copy.slice(0, n), weight);
}

void CpuKernels::cast(View to, View from) {
  const std::int64_t n = to.count;
  if ((to.type == DType::fp32) == (from.type == DType::fp32)) throw std::logic_error("casts are from fp32 or to it");
  if (from.count < n) throw std::logic_error("a cast of fewer elements than it writes");
  const bool widens = to.type == DType::fp32;
  const DType narrow = widens ? from.type : to.type;
  if (narrow != DType::bf16 && narrow != DType::fp16) throw std::logic_error("compute types are bf16, fp16 and fp32");
  parallel_ranges(limits_.threads, n, 1, 16, [&](std::int64_t first, std::int64_t last) {
    if (widens)
      widen_range(last - first, narrow, static_cast<const std::uint16_t*>(from.data) + first, to.fp32() + first);
    else
      narrow_range(last - first, narrow, from.fp32() + first, static_cast<std::uint16_t*>(to.data) + first);
  });
}

void CpuKernels::add(View y, View x) {
  if (y.type == DType::fp64) {
    double* to = cells(y, y.count);
    const double* from = cells(x, y.count);
    for (std::int64_t i = 0; i < y.count; ++i) to[i] += from[i];
    return;
  }
  float* to = floats(y, y.count);
  const float* from = floats(x, y.count);
  parallel_ranges(limits_.threads, y.count, 1, 16,
                  [&](std::int64_t first, std::int64_t last) { add_range(last - first, from + first, to + first); });
}

void CpuKernels::squared_norm(View x, View out) { *cells(out, 1) = sum_of_parts(x, squares_of); }

void CpuKernels::sum(View x, View out) {
  *cells(out, 1) = x.type == DType::fp64 ? std::accumulate(x.fp64(), x.fp64() + x.count, 0.0)
                                         : std::accumulate(x.fp32(), x.fp32() + x.count, 0.0);
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
