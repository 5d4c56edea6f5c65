#include "kernels/cpu/ranges.h"

#include <algorithm>
#include <limits>

#include "kernels/cpu/simd.h"

namespace trireme::kernels {

TRIREME_RANGE_FUNCTION
void add_range(std::int64_t n, const float* x, float* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] += x[i];
}

TRIREME_RANGE_FUNCTION
void scale_range(std::int64_t n, float factor, float* x) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) x[i] *= factor;
}

TRIREME_RANGE_FUNCTION
void multiply_range(std::int64_t n, const float* factors, const float* x, float* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = factors[i] * x[i];
}

TRIREME_RANGE_FUNCTION
void add_bias_residual(std::int64_t n, const float* x, const float* bias, const float* factors, const float* residual, float* y) {
  if (factors == nullptr) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = residual[i] + (x[i] + bias[i]);
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = residual[i] + factors[i] * (x[i] + bias[i]);
  }
}

TRIREME_INLINE float larger(float a, float b) { return a > b ? a : b; }

// The compiler does not vectorise a maximum of floats by itself (it would lose NaN and the sign of zero): lanes by hand.
TRIREME_RANGE_FUNCTION
float maximum_of(std::int64_t n, const float* x) {
  constexpr std::int64_t lanes = 32;
  float best[lanes];
  for (float& value : best) value = -std::numeric_limits<float>::infinity();
  const std::int64_t whole = n / lanes * lanes;
  for (std::int64_t i = 0; i < whole; i += lanes) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < lanes; ++lane) best[lane] = larger(x[i + lane], best[lane]);
  }
  for (std::int64_t half = lanes / 2; half > 0; half /= 2) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < half; ++lane) best[lane] = larger(best[lane + half], best[lane]);
  }
  float result = best[0];
  for (std::int64_t i = whole; i < n; ++i) result = larger(x[i], result);
  return result;
}

// Summed in pieces, so that a long row keeps its accuracy.
TRIREME_RANGE_FUNCTION
float exponentials(std::int64_t n, float shift, float* x) {
  constexpr std::int64_t piece = 1024;
  double total = 0;
  for (std::int64_t start = 0; start < n; start += piece) {
    const std::int64_t end = std::min(n, start + piece);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = start; i < end; ++i) {
      x[i] = exponential(x[i] - shift);
      sum += x[i];
    }
    total += sum;
  }
  return static_cast<float>(total);
}

TRIREME_RANGE_FUNCTION
void column_sums_range(std::int64_t rows, std::int64_t columns, std::int64_t first, std::int64_t last, const float* x,
                       float* sums) {
  constexpr std::int64_t width = 256;  // columns at once: their sums stay in the first-level cache
  for (std::int64_t column = first; column < last; column += width) {
    const std::int64_t n = std::min(width, last - column);
    float partial[width] = {};
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* from = x + row * columns + column;
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) partial[i] += from[i];
    }
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) sums[column + i] += partial[i];
  }
}

}  // namespace trireme::kernels
