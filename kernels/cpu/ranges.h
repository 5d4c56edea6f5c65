// Range functions (simd.h) that several kernels share, over elements of any compute type. In place is allowed where a result and
// an argument have the same index.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/cpu/elements.h"
#include "kernels/cpu/parallel.h"

namespace trireme::kernels {

/// y = x, rounded where y's type is the shorter one
template <class From, class To>
TRIREME_RANGE_FUNCTION void convert_range(std::int64_t n, const From* x, To* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) store(y + i, load(x + i));
}

/// y += x
template <class T>
TRIREME_RANGE_FUNCTION void add_range(std::int64_t n, const T* x, float* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] += load(x + i);
}

/// x *= factor
template <class T>
TRIREME_RANGE_FUNCTION void scale_range(std::int64_t n, float factor, T* x) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) store(x + i, load(x + i) * factor);
}

/// y = factors * x
template <class T>
TRIREME_RANGE_FUNCTION void multiply_range(std::int64_t n, const float* factors, const T* x, T* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) store(y + i, factors[i] * load(x + i));
}

/// y = residual + factors * (x + bias); null factors: 1. X: fp32 for a product that is not rounded yet.
template <class X, class T>
TRIREME_RANGE_FUNCTION void add_bias_residual(std::int64_t n, const X* x, const T* bias, const float* factors, const T* residual,
                                              T* y) {
  if (factors == nullptr) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) store(y + i, load(residual + i) + (load(x + i) + load(bias + i)));
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) store(y + i, load(residual + i) + factors[i] * (load(x + i) + load(bias + i)));
  }
}

TRIREME_INLINE float larger(float a, float b) { return a > b ? a : b; }

/// -infinity for n = 0. The compiler does not vectorise a maximum of floats by itself (it would lose NaN and the sign of zero):
/// lanes by hand.
template <class T>
TRIREME_RANGE_FUNCTION float maximum_of(std::int64_t n, const T* x) {
  constexpr std::int64_t lanes = 32;
  float best[lanes];
  for (float& value : best) value = -std::numeric_limits<float>::infinity();
  const std::int64_t whole = n / lanes * lanes;
  for (std::int64_t i = 0; i < whole; i += lanes) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < lanes; ++lane) best[lane] = larger(load(x + i + lane), best[lane]);
  }
  for (std::int64_t half = lanes / 2; half > 0; half /= 2) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < half; ++lane) best[lane] = larger(best[lane + half], best[lane]);
  }
  float result = best[0];
  for (std::int64_t i = whole; i < n; ++i) result = larger(load(x + i), result);
  return result;
}

/// x = exp(x - shift); returns the sum of what is stored there, before it is rounded. Summed in pieces, so that a long row keeps
/// its accuracy.
template <class T>
TRIREME_RANGE_FUNCTION float exponentials(std::int64_t n, float shift, T* x) {
  constexpr std::int64_t piece = 1024;
  double total = 0;
  for (std::int64_t start = 0; start < n; start += piece) {
    const std::int64_t end = std::min(n, start + piece);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = start; i < end; ++i) {
      const float e = exponential(load(x + i) - shift);
      store(x + i, e);
      sum += e;
    }
    total += sum;
  }
  return static_cast<float>(total);
}

/// sums [first .. last) += those columns of x [rows, columns]; each column from its first row to its last
template <class T>
TRIREME_RANGE_FUNCTION void column_sums_range(std::int64_t rows, std::int64_t columns, std::int64_t first, std::int64_t last,
                                              const T* x, float* sums) {
  constexpr std::int64_t width = 256;  // columns at once: their sums stay in the first-level cache
  for (std::int64_t column = first; column < last; column += width) {
    const std::int64_t n = std::min(width, last - column);
    float partial[width] = {};
    for (std::int64_t row = 0; row < rows; ++row) {
      const T* from = x + row * columns + column;
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) partial[i] += load(from + i);
    }
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) sums[column + i] += partial[i];
  }
}

/// The same of all columns, on `threads` threads
template <class T>
void column_sums(int threads, std::int64_t rows, std::int64_t columns, const T* x, float* sums) {
  parallel_ranges(threads, columns, rows, 16,
                  [&](std::int64_t first, std::int64_t last) { column_sums_range(rows, columns, first, last, x, sums); });
}

}  // namespace trireme::kernels
