// Matrix products by the system's BLAS, and what is fused with them.
#include <cblas.h>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/gemm/gelu.h"
#include "kernels/cpu/gemm/product.h"
#include "kernels/cpu/rows/dropout.h"

namespace trireme::kernels {
namespace {

template <class T>
TRIREME_RANGE_FUNCTION void gelu_range(std::int64_t n, const float* pre, T* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) store(y + i, gelu(pre[i]));
}

/// dpre = d * gelu'(pre)
template <class T>
TRIREME_RANGE_FUNCTION void gelu_gradient_range(std::int64_t n, const T* pre, const float* d, T* dpre) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) store(dpre + i, d[i] * gelu_derivative(load(pre + i)));
}

/// y = bias + residual
TRIREME_RANGE_FUNCTION
void start_row(std::int64_t n, const float* bias, const float* residual, float* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = bias[i] + residual[i];
}

constexpr auto start_empty = [](const Tile&) { return false; };

/// Starts a tile with the bias (null: none): the library then skips its own pass that clears it.
template <class T>
auto start_with(int threads, const T* bias) {
  return [=](const Tile& tile) {
    if (bias) over_rows(threads, tile, [&](std::int64_t, float* to) { convert_range(tile.columns, bias + tile.column, to); });
    return bias != nullptr;
  };
}

/// Ends a tile of y, of `columns` columns.
template <class T>
auto store_to(int threads, T* y, std::int64_t columns) {
  return [=](const Tile& tile) {
    if constexpr (!is_fp32<T>)
      over_rows(threads, tile,
                [&](std::int64_t row, const float* from) { convert_range(tile.columns, from, y + row * columns + tile.column); });
  };
}

}  // namespace

void multiply(Product product, float alpha, Matrix a, Matrix b, float beta, Result c) {
  const auto dimension = [](std::int64_t n) { return static_cast<blasint>(n); };
  cblas_sgemm(CblasRowMajor, product.transpose_a ? CblasTrans : CblasNoTrans, product.transpose_b ? CblasTrans : CblasNoTrans,
              dimension(product.m), dimension(product.n), dimension(product.k), alpha, a.data, dimension(a.stride), b.data,
              dimension(b.stride), beta, c.data, dimension(c.stride));
}

void CpuKernels::linear(LinearShape shape, View x, View weight, View bias, View y) {
  with_type(x.type, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = shape.rows, in = shape.in, out = shape.out;
    const Product product{false, true, n, out, in};
    T* to = elements<T>(y, n * out);
    form(product, elements<T>(x, n * in), elements<T>(weight, out * in), formed_in(to), cut_of<T>(product), scratch_of(x.type),
         start_with<T>(limits_.threads, bias ? elements<T>(bias, out) : nullptr), store_to(limits_.threads, to, out));
  });
}

void CpuKernels::linear_gelu(LinearShape shape, View x, View weight, View bias, View pre, View y) {
  with_type(x.type, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = shape.rows, in = shape.in, out = shape.out;
    const Product product{false, true, n, out, in};
    T *before = elements<T>(pre, n * out), *to = elements<T>(y, n * out);
    const auto finish = [&](const Tile& tile) {
      over_rows(limits_.threads, tile,
                [&](std::int64_t row, const float* from) { gelu_range(tile.columns, from, to + row * out + tile.column); });
      store_to(limits_.threads, before, out)(tile);
    };
    form(product, elements<T>(x, n * in), elements<T>(weight, out * in), formed_in(before), cut_of<T>(product),
         scratch_of(x.type), start_with<T>(limits_.threads, bias ? elements<T>(bias, out) : nullptr), finish);
  });
}

void CpuKernels::linear_residual(const LinearResidual& op) {
  with_type(op.x.type, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = op.shape.rows, in = op.shape.in, out = op.shape.out;
    const Product product{false, true, n, out, in};
    const T *x = elements<T>(op.x, n * in), *weight = elements<T>(op.weight, out * in), *bias = elements<T>(op.bias, out);
    const T* residual = elements<T>(op.residual, n * out);
    T* y = elements<T>(op.y, n * out);
    const ProductScratch scratch = scratch_of(op.x.type);
    if constexpr (is_fp32<T>) {
      if (op.dropout.rate == 0) {
        const auto start = [&](const Tile& tile) {
          over_rows(limits_.threads, tile, [&](std::int64_t row, float* to) { start_row(out, bias, residual + row * out, to); });
          return true;
        };
        return form(product, x, weight, y, cut_of<T>(product), scratch, start, [](const Tile&) {});
      }
    }
    const auto finish = [&](const Tile& tile) {
      over_rows(limits_.threads, tile, [&](std::int64_t row, const float* from) {
        const std::int64_t at = row * out + tile.column;
        bias_residual_row<float, T>(op.dropout, masked_row(op.rows, row, out, tile.column), tile.columns,
                                    {from, bias + tile.column, residual + at, y + at});
      });
    };
    // y may be the residual: the product stands in scratch. Fp32 needs no other cut than into what fits there.
    constexpr std::int64_t fits = ProductScratch::tile_elements;
    const Cut cut = is_fp32<T> ? Cut{std::max<std::int64_t>(1, fits / out), std::min(out, fits), in} : cut_of<T>(product);
    form(product, x, weight, nullptr, cut, scratch, start_empty, finish);
  });
}

void CpuKernels::linear_input_gradient(LinearShape shape, View dy, View weight, View dx) {
  with_type(dy.type, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = shape.rows, in = shape.in, out = shape.out;
    const Product product{false, false, n, in, out};
    T* to = elements<T>(dx, n * in);
    form(product, elements<T>(dy, n * out), elements<T>(weight, out * in), formed_in(to), cut_of<T>(product), scratch_of(dy.type),
         start_empty, store_to(limits_.threads, to, in));
  });
}

void CpuKernels::linear_input_gradient_gelu(LinearShape shape, View dy, View weight, View pre, View dpre) {
  with_type(dy.type, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = shape.rows, in = shape.in, out = shape.out;
    const Product product{false, false, n, in, out};
    const T* before = elements<T>(pre, n * in);
    T* to = elements<T>(dpre, n * in);
    const auto finish = [&](const Tile& tile) {
      over_rows(limits_.threads, tile, [&](std::int64_t row, const float* from) {
        const std::int64_t at = row * in + tile.column;
        gelu_gradient_range(tile.columns, before + at, from, to + at);
      });
    };
    form(product, elements<T>(dy, n * out), elements<T>(weight, out * in), formed_in(to), cut_of<T>(product), scratch_of(dy.type),
         start_empty, finish);
  });
}

void CpuKernels::linear_weight_gradient(LinearShape shape, View dy, View x, View dweight, View dbias) {
  with_type(dy.type, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = shape.rows, in = shape.in, out = shape.out;
    const Product product{true, false, out, in, n};
    const T* d = elements<T>(dy, n * out);
    const auto accumulates = [](const Tile&) { return true; };
    form(product, d, elements<T>(x, n * in), elements<float>(dweight, out * in), cut_of<T>(product), scratch_of(dy.type),
         accumulates, [](const Tile&) {});
    if (dbias) column_sums(limits_.threads, n, out, d, elements<float>(dbias, out));
  });
}

}  // namespace trireme::kernels
