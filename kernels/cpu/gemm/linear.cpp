// Matrix products by the system's BLAS, and what is fused with them.
#include <algorithm>
#include <cstring>

#include <cblas.h>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/gemm/gelu.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/rows/dropout.h"
#include "kernels/cpu/simd.h"

namespace trireme::kernels {
namespace {

TRIREME_RANGE_FUNCTION
void gelu_range(std::int64_t n, const float* pre, float* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = gelu(pre[i]);
}

/// d = d * gelu'(pre)
TRIREME_RANGE_FUNCTION
void gelu_gradient_range(std::int64_t n, const float* pre, float* d) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) d[i] *= gelu_derivative(pre[i]);
}

/// y = bias + residual (null: bias alone)
TRIREME_RANGE_FUNCTION
void start_row(std::int64_t n, const float* bias, const float* residual, float* y) {
  if (residual == nullptr) {
    std::memcpy(y, bias, static_cast<std::size_t>(n) * sizeof(float));
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = bias[i] + residual[i];
  }
}

}  // namespace

void multiply(Product product, float alpha, Matrix a, Matrix b, float beta, Result c) {
  const auto dimension = [](std::int64_t n) { return static_cast<blasint>(n); };
  cblas_sgemm(CblasRowMajor, product.transpose_a ? CblasTrans : CblasNoTrans, product.transpose_b ? CblasTrans : CblasNoTrans,
              dimension(product.m), dimension(product.n), dimension(product.k), alpha, a.data, dimension(a.stride), b.data,
              dimension(b.stride), beta, c.data, dimension(c.stride));
}

void CpuKernels::column_sums(std::int64_t rows, std::int64_t columns, const float* x, float* sums) const {
  parallel_ranges(limits_.threads, columns, rows, 16,
                  [&](std::int64_t first, std::int64_t last) { column_sums_range(rows, columns, first, last, x, sums); });
}

// The product is added to rows that hold the bias already: the library then skips its own pass that clears them.
void CpuKernels::linear(LinearShape shape, View x, View weight, View bias, View y) {
  const auto [rows, in, out] = shape;
  float* to = floats(y, rows * out);
  if (bias) {
    const float* offset = floats(bias, out);
    parallel_ranges(limits_.threads, rows, out, 1, [&, columns = out](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) start_row(columns, offset, nullptr, to + row * columns);
    });
  }
  multiply({false, true, rows, out, in}, 1, {floats(x, rows * in), in}, {floats(weight, out * in), in}, bias ? 1.0f : 0.0f,
           {to, out});
}

void CpuKernels::linear_gelu(LinearShape shape, View x, View weight, View bias, View pre, View y) {
  linear(shape, x, weight, bias, pre);
  const std::int64_t count = shape.rows * shape.out;
  const float* from = floats(pre, count);
  float* to = floats(y, count);
  parallel_ranges(limits_.threads, count, 1, 16,
                  [&](std::int64_t first, std::int64_t last) { gelu_range(last - first, from + first, to + first); });
}

void CpuKernels::linear_residual(const LinearResidual& op) {
  const std::int64_t n = op.shape.rows, in = op.shape.in, out = op.shape.out;
  const float *from = floats(op.x, n * in), *matrix = floats(op.weight, out * in), *offset = floats(op.bias, out);
  const float* base = floats(op.residual, n * out);
  float* to = floats(op.y, n * out);
  if (op.dropout.rate == 0) {
    parallel_ranges(limits_.threads, n, out, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) start_row(out, offset, base + row * out, to + row * out);
    });
    multiply({false, true, n, out, in}, 1, {from, in}, {matrix, in}, 1, {to, out});
    return;
  }
  const std::int64_t block = product_.count / out;  // y may be the residual: the product stands in scratch, some rows at a time
  if (block == 0) throw std::logic_error(fmt::format("linear_residual of {} columns: {} at most", out, product_.count));
  for (std::int64_t start = 0; start < n; start += block) {
    const std::int64_t count = std::min(block, n - start);
    float* product = product_.fp32();
    multiply({false, true, count, out, in}, 1, {from + start * in, in}, {matrix, in}, 0, {product, out});
    parallel_ranges(limits_.threads, count, out, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        const std::int64_t at = (start + row) * out;
        bias_residual_row(op.rows, start + row, out, product + row * out, offset, op.dropout, base + at, to + at);
      }
    });
  }
}

void CpuKernels::linear_input_gradient(LinearShape shape, View dy, View weight, View dx) {
  const auto [rows, in, out] = shape;
  multiply({false, false, rows, in, out}, 1, {floats(dy, rows * out), out}, {floats(weight, out * in), in}, 0,
           {floats(dx, rows * in), in});
}

void CpuKernels::linear_input_gradient_gelu(LinearShape shape, View dy, View weight, View pre, View dpre) {
  linear_input_gradient(shape, dy, weight, dpre);
  const std::int64_t count = shape.rows * shape.in;
  const float* before = floats(pre, count);
  float* d = floats(dpre, count);
  parallel_ranges(limits_.threads, count, 1, 16,
                  [&](std::int64_t first, std::int64_t last) { gelu_gradient_range(last - first, before + first, d + first); });
}

void CpuKernels::linear_weight_gradient(LinearShape shape, View dy, View x, View dweight, View dbias) {
  const auto [rows, in, out] = shape;
  const float* d = floats(dy, rows * out);
  multiply({true, false, out, in, rows}, 1, {d, out}, {floats(x, rows * in), in}, 1, {floats(dweight, out * in), in});
  if (dbias) column_sums(rows, out, d, floats(dbias, out));
}

}  // namespace trireme::kernels
