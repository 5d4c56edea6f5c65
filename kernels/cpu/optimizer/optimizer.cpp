// AdamW, and the sums, counts and casts around it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "kernels/cpu/cpu_kernels.h"

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

TRIREME_RANGE_FUNCTION
double squares_of(std::int64_t n, const float* x) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

template <class T>
TRIREME_RANGE_FUNCTION double non_finite_in(std::int64_t n, const T* x) {
  constexpr std::uint32_t exponent = 0x7f800000;  // all ones: infinity or NaN
  std::int64_t count = 0;
#pragma omp simd reduction(+ : count)
  for (std::int64_t i = 0; i < n; ++i) count += (std::bit_cast<std::uint32_t>(load(x + i)) & exponent) == exponent ? 1 : 0;
  return static_cast<double>(count);  // exact below 2^53
}

/// Where one AdamW is: its elements and, null where there is none, their copy in the compute type.
template <class T>
struct AdamWArrays {
  float* weight;
  const float* gradient;
  float *first, *second;
  T* copy;
};

/// Elements first .. last - 1, in pieces that stay in the first-level cache until their copy is written.
template <class T>
void adamw_pieces(std::int64_t first, std::int64_t last, const AdamW& step, float scale, const AdamWArrays<T>& at) {
  constexpr std::int64_t piece = 1024;
  for (std::int64_t i = first; i < last; i += piece) {
    const std::int64_t n = at.copy ? std::min(piece, last - i) : last - i;
    adamw_range(n, step, scale, at.weight + i, at.gradient + i, at.first + i, at.second + i);
    if (at.copy == nullptr) return;
    convert_range(n, at.weight + i, at.copy + i);
  }
}

}  // namespace

void CpuKernels::clip(double clip, double loss_scale, View squares, View record) {
  const double* from = elements<double>(squares, squares.count);
  double* to = elements<double>(record, StepOutcome::cells);
  const double norm = std::sqrt(std::accumulate(from, from + squares.count, 0.0)) / loss_scale;
  to[StepOutcome::norm_cell] = norm;
  to[StepOutcome::scale_cell] = (clip > 0 ? std::min(1.0, clip / (norm + 1e-6)) : 1.0) / loss_scale;
  to[StepOutcome::skipped_cell] = std::isfinite(norm) ? 0 : 1;
}

void CpuKernels::adamw(AdamW step, View weight, View gradient, View first_moment, View second_moment, View copy) {
  const std::int64_t n = weight.count;
  const double* facts = elements<double>(step.record, StepOutcome::cells);
  with_type(copy.type, [&](auto zero) {
    using T = decltype(zero);
    const AdamWArrays<T> at{elements<float>(weight, n), elements<float>(gradient, n), elements<float>(first_moment, n),
                            elements<float>(second_moment, n), copy ? elements<T>(copy, n) : nullptr};
    if (facts[StepOutcome::skipped_cell] != 0) return;
    const auto scale = static_cast<float>(facts[StepOutcome::scale_cell]);
    parallel_ranges(limits_.threads, n, 1, 16,
                    [&](std::int64_t first, std::int64_t last) { adamw_pieces(first, last, step, scale, at); });
  });
}

void CpuKernels::cast(View to, View from) {
  const std::int64_t n = to.count;
  if ((to.type == DType::fp32) == (from.type == DType::fp32)) throw std::logic_error("casts are from fp32 or to it");
  const auto convert = [&](const auto* source, auto* target) {
    parallel_ranges(limits_.threads, n, 1, 16,
                    [&](std::int64_t first, std::int64_t last) { convert_range(last - first, source + first, target + first); });
  };
  with_type(to.type == DType::fp32 ? from.type : to.type, [&](auto zero) {
    using T = decltype(zero);
    if (to.type == DType::fp32)
      convert(elements<T>(from, n), elements<float>(to, n));
    else
      convert(elements<float>(from, n), elements<T>(to, n));
  });
}

void CpuKernels::add(View y, View x) {
  if (y.type == DType::fp64) {
    double* to = elements<double>(y, y.count);
    const double* from = elements<double>(x, y.count);
    for (std::int64_t i = 0; i < y.count; ++i) to[i] += from[i];
    return;
  }
  float* to = elements<float>(y, y.count);
  const float* from = elements<float>(x, y.count);
  parallel_ranges(limits_.threads, y.count, 1, 16,
                  [&](std::int64_t first, std::int64_t last) { add_range(last - first, from + first, to + first); });
}

void CpuKernels::squared_norm(View x, View out) {
  *elements<double>(out, 1) = sum_of_parts<float>(elements<float>(x, x.count), x.count, squares_of);
}

void CpuKernels::sum(View x, View out) {
  *elements<double>(out, 1) = x.type == DType::fp64 ? std::accumulate(x.fp64(), x.fp64() + x.count, 0.0)
                                                    : std::accumulate(x.fp32(), x.fp32() + x.count, 0.0);
}

std::int64_t CpuKernels::non_finite_count(View x) {
  double count = 0;
  with_type(x.type, [&](auto zero) {
    using T = decltype(zero);
    count = sum_of_parts<T>(elements<T>(x, x.count), x.count, non_finite_in<T>);
  });
  return static_cast<std::int64_t>(count);
}

/// Sum of `part` (elements, first element) over parts that follow from the number of elements alone, added in their order.
template <class T>
double CpuKernels::sum_of_parts(const T* x, std::int64_t count, double (*part)(std::int64_t, const T*)) {
  double* sums = partial_.fp64();
  const std::int64_t parts = partial_.count;
  parallel_ranges(limits_.threads, parts, count / parts, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t start = count * i / parts, end = count * (i + 1) / parts;
      sums[i] = part(end - start, x + start);
    }
  });
  return std::accumulate(sums, sums + parts, 0.0);
}

}  // namespace trireme::kernels
