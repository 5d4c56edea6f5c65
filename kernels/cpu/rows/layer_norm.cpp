// Layer norm (Ba, Kiros and Hinton, 2016). Rows are split over threads, the weight gradients over columns, so that no sum depends
// on the number of threads.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/rows/dropout.h"
#include "kernels/cpu/simd.h"

namespace trireme::kernels {
namespace {

constexpr float epsilon = 1e-5f;

TRIREME_RANGE_FUNCTION
void norm_row(std::int64_t n, const float* x, const float* gain, const float* bias, float* y, float* mean, float* rstd) {
  float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += x[i];
  const float center = sum / static_cast<float>(n);
#pragma omp simd reduction(+ : squares)
  for (std::int64_t i = 0; i < n; ++i) squares += (x[i] - center) * (x[i] - center);
  const float inverse = 1.0f / std::sqrt(squares / static_cast<float>(n) + epsilon);
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - center) * inverse * gain[i] + bias[i];
  *mean = center;
  *rstd = inverse;
}

/// With g = dy gain and z = (x - mean) rstd: dx = rstd (g - mean(g) - z mean(g z)) + dresidual (null: 0)
TRIREME_RANGE_FUNCTION
void norm_gradient_row(std::int64_t n, const float* dy, const float* x, const float* gain, float mean, float rstd,
                       const float* dresidual, float* dx) {
  float sum = 0, product = 0;
#pragma omp simd reduction(+ : sum, product)
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = dy[i] * gain[i];
    sum += g;
    product += g * ((x[i] - mean) * rstd);
  }
  const float a = sum / static_cast<float>(n), b = product / static_cast<float>(n);
  if (dresidual == nullptr) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) dx[i] = rstd * (dy[i] * gain[i] - a - (x[i] - mean) * rstd * b);
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) dx[i] = dresidual[i] + rstd * (dy[i] * gain[i] - a - (x[i] - mean) * rstd * b);
  }
}

/// dgain, dbias += columns first .. last - 1 of dy z and of dy, each column from its first row to its last
TRIREME_RANGE_FUNCTION
void norm_weight_gradient_range(std::int64_t rows, std::int64_t columns, std::int64_t first, std::int64_t last, const float* dy,
                                const float* x, const float* mean, const float* rstd, float* dgain, float* dbias) {
  constexpr std::int64_t width = 256;  // columns at once: their sums stay in the first-level cache
  for (std::int64_t column = first; column < last; column += width) {
    const std::int64_t n = std::min(width, last - column);
    float gains[width] = {}, biases[width] = {};
    for (std::int64_t row = 0; row < rows; ++row) {
      const float *d = dy + row * columns + column, *from = x + row * columns + column;
      const float center = mean[row], inverse = rstd[row];
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) {
        gains[i] += d[i] * ((from[i] - center) * inverse);
        biases[i] += d[i];
      }
    }
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      dgain[column + i] += gains[i];
      dbias[column + i] += biases[i];
    }
  }
}

}  // namespace

void CpuKernels::layer_norm(const LayerNorm& op) {
  const std::int64_t rows = op.rows, hidden = op.hidden;
  const float *from = floats(op.x, rows * hidden), *scale = floats(op.gain, hidden), *offset = floats(op.bias, hidden);
  float *to = floats(op.y, rows * hidden), *means = floats(op.mean, rows), *rstds = floats(op.rstd, rows);
  parallel_ranges(limits_.threads, rows, hidden, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row)
      norm_row(hidden, from + row * hidden, scale, offset, to + row * hidden, means + row, rstds + row);
  });
}

void CpuKernels::residual_layer_norm(const ResidualLayerNorm& op) {
  const std::int64_t n = op.rows.count(), hidden = op.hidden;
  const float *from = floats(op.x, n * hidden), *before = floats(op.linear_bias, hidden), *base = floats(op.residual, n * hidden);
  const float *scale = floats(op.gain, hidden), *offset = floats(op.bias, hidden);
  float *sums = floats(op.sum, n * hidden), *to = floats(op.y, n * hidden);
  float *means = floats(op.mean, n), *rstds = floats(op.rstd, n);
  parallel_ranges(limits_.threads, n, hidden, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      const std::int64_t at = row * hidden;
      bias_residual_row(op.rows, row, hidden, from + at, before, op.dropout, base + at, sums + at);
      norm_row(hidden, sums + at, scale, offset, to + at, means + row, rstds + row);
    }
  });
}

void CpuKernels::layer_norm_backward(const LayerNormBackward& op) {
  const std::int64_t rows = op.rows, hidden = op.hidden;
  const float *d = floats(op.dy, rows * hidden), *from = floats(op.x, rows * hidden), *scale = floats(op.gain, hidden);
  const float *means = floats(op.mean, rows), *rstds = floats(op.rstd, rows);
  const float* through = op.dresidual ? floats(op.dresidual, rows * hidden) : nullptr;
  float *to = floats(op.dx, rows * hidden), *gains = floats(op.dgain, hidden), *biases = floats(op.dbias, hidden);
  parallel_ranges(limits_.threads, hidden, rows, 16, [&](std::int64_t first, std::int64_t last) {
    norm_weight_gradient_range(rows, hidden, first, last, d, from, means, rstds, gains, biases);
  });
  parallel_ranges(limits_.threads, rows, hidden, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      const std::int64_t at = row * hidden;
      norm_gradient_row(hidden, d + at, from + at, scale, means[row], rstds[row], through ? through + at : nullptr, to + at);
    }
  });
}

}  // namespace trireme::kernels
