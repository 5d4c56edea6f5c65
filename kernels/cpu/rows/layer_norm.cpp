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

template <class T>
TRIREME_RANGE_FUNCTION void norm_row(std::int64_t n, const T* x, const T* gain, const T* bias, T* y, float* mean, float* rstd) {
  float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += load(x + i);
  const float center = sum / static_cast<float>(n);
#pragma omp simd reduction(+ : squares)
  for (std::int64_t i = 0; i < n; ++i) squares += (load(x + i) - center) * (load(x + i) - center);
  const float inverse = 1.0f / std::sqrt(squares / static_cast<float>(n) + epsilon);
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) store(y + i, (load(x + i) - center) * inverse * load(gain + i) + load(bias + i));
  *mean = center;
  *rstd = inverse;
}

template <class T>
struct NormGradientRow {
  const T *dy, *x, *gain;
  float mean, rstd;
  const T* dresidual;  // null: 0
  T* dx;
};

/// With g = dy gain and z = (x - mean) rstd: dx = rstd (g - mean(g) - z mean(g z)) + dresidual
template <class T>
TRIREME_RANGE_FUNCTION void norm_gradient_row(std::int64_t n, const NormGradientRow<T>& row) {
  const T *dy = row.dy, *x = row.x, *gain = row.gain, *dresidual = row.dresidual;
  const float mean = row.mean, rstd = row.rstd;
  T* dx = row.dx;
  float sum = 0, product = 0;
#pragma omp simd reduction(+ : sum, product)
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = load(dy + i) * load(gain + i);
    sum += g;
    product += g * ((load(x + i) - mean) * rstd);
  }
  const float a = sum / static_cast<float>(n), b = product / static_cast<float>(n);
  if (dresidual == nullptr) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i)
      store(dx + i, rstd * (load(dy + i) * load(gain + i) - a - (load(x + i) - mean) * rstd * b));
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i)
      store(dx + i, load(dresidual + i) + rstd * (load(dy + i) * load(gain + i) - a - (load(x + i) - mean) * rstd * b));
  }
}

template <class T>
struct NormWeightGradient {
  std::int64_t rows, columns;
  const T *dy, *x;           // [rows, columns]
  const float *mean, *rstd;  // [rows]
  float *dgain, *dbias;      // [columns]
};

/// dgain, dbias += columns first .. last - 1 of dy z and of dy, each column from its first row to its last
template <class T>
TRIREME_RANGE_FUNCTION void norm_weight_gradient_range(const NormWeightGradient<T>& op, std::int64_t first, std::int64_t last) {
  const std::int64_t rows = op.rows, columns = op.columns;
  const T *dy = op.dy, *x = op.x;
  const float *mean = op.mean, *rstd = op.rstd;
  float *dgain = op.dgain, *dbias = op.dbias;
  constexpr std::int64_t width = 256;  // columns at once: their sums stay in the first-level cache
  for (std::int64_t column = first; column < last; column += width) {
    const std::int64_t n = std::min(width, last - column);
    float gains[width] = {}, biases[width] = {};
    for (std::int64_t row = 0; row < rows; ++row) {
      const T *d = dy + row * columns + column, *from = x + row * columns + column;
      const float center = mean[row], inverse = rstd[row];
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) {
        const float gradient = load(d + i);
        gains[i] += gradient * ((load(from + i) - center) * inverse);
        biases[i] += gradient;
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
  with_type(op.x.type, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t rows = op.rows, hidden = op.hidden;
    const T *x = elements<T>(op.x, rows * hidden), *gain = elements<T>(op.gain, hidden), *bias = elements<T>(op.bias, hidden);
    T* y = elements<T>(op.y, rows * hidden);
    float *means = elements<float>(op.mean, rows), *rstds = elements<float>(op.rstd, rows);
    parallel_ranges(limits_.threads, rows, hidden, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row)
        norm_row(hidden, x + row * hidden, gain, bias, y + row * hidden, means + row, rstds + row);
    });
  });
}

void CpuKernels::residual_layer_norm(const ResidualLayerNorm& op) {
  with_type(op.x.type, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = op.rows.count(), hidden = op.hidden;
    const T *x = elements<T>(op.x, n * hidden), *before = elements<T>(op.linear_bias, hidden);
    const T *residual = elements<T>(op.residual, n * hidden), *gain = elements<T>(op.gain, hidden);
    const T* bias = elements<T>(op.bias, hidden);
    T *sum = elements<T>(op.sum, n * hidden), *y = elements<T>(op.y, n * hidden);
    float *means = elements<float>(op.mean, n), *rstds = elements<float>(op.rstd, n);
    parallel_ranges(limits_.threads, n, hidden, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        const std::int64_t at = row * hidden;
        bias_residual_row<T, T>(op.dropout, masked_row(op.rows, row, hidden), hidden, {x + at, before, residual + at, sum + at});
        norm_row(hidden, sum + at, gain, bias, y + at, means + row, rstds + row);
      }
    });
  });
}

void CpuKernels::layer_norm_backward(const LayerNormBackward& op) {
  with_type(op.x.type, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t rows = op.rows, hidden = op.hidden;
    const T *dy = elements<T>(op.dy, rows * hidden), *x = elements<T>(op.x, rows * hidden), *gain = elements<T>(op.gain, hidden);
    const float *means = elements<float>(op.mean, rows), *rstds = elements<float>(op.rstd, rows);
    const T* through = op.dresidual ? elements<T>(op.dresidual, rows * hidden) : nullptr;
    T* dx = elements<T>(op.dx, rows * hidden);
    float *dgain = elements<float>(op.dgain, hidden), *dbias = elements<float>(op.dbias, hidden);
    parallel_ranges(limits_.threads, hidden, rows, 16, [&](std::int64_t first, std::int64_t last) {
      norm_weight_gradient_range<T>({rows, hidden, dy, x, means, rstds, dgain, dbias}, first, last);
    });
    parallel_ranges(limits_.threads, rows, hidden, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        const std::int64_t at = row * hidden;
        norm_gradient_row<T>(hidden, {dy + at, x + at, gain, means[row], rstds[row], through ? through + at : nullptr, dx + at});
      }
    });
  });
}

}  // namespace trireme::kernels
