// A linear layer's products: which matrices they are of, in how many parts the sum over k is formed, and the kernel that adds
// the parts.
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/gemm/gemm_epilogue.cuh"
#include "kernels/cuda/views.h"

namespace trireme::kernels::cuda {
namespace {

constexpr int sum_threads = 256;

/// The parts [count, rows, columns] of a product's sums, in order, and its epilogue; four columns a thread
template <class T>
TRIREME_KERNEL((sum_threads), sum_split, const float* parts, int count, Epilogue<T> p) {
  const std::int64_t quads = (p.columns + 3) / 4, quad = static_cast<std::int64_t>(blockIdx.x) * sum_threads + threadIdx.x;
  const int row = static_cast<int>(quad / quads), column = static_cast<int>(quad % quads) * 4;
  if (row >= p.rows) return;
  const float* from = parts + static_cast<std::int64_t>(row) * p.columns + column;
  float sums[1][4] = {};
#pragma unroll 4
  for (int part = 0; part < count; ++part) {
    float v[4];
    read_quad(from + static_cast<std::int64_t>(part) * p.rows * p.columns, p.wide, p.columns - column, v);
#pragma unroll
    for (int j = 0; j < 4; ++j) sums[0][j] += v[j];
  }
  finish(p, row, 1, column, sums);
}

template <class T>
void launch_sum(const float* parts, int count, const Epilogue<T>& p, const Target& target) {
  const std::int64_t quads = (p.columns + 3) / 4 * static_cast<std::int64_t>(p.rows);
  const dim3 grid(blocks_of(quads, sum_threads));
  TRIREME_LAUNCH((sum_split<T>), grid, dim3(sum_threads), 0, target.stream, parts, count, p);
}

struct Split {
  std::int64_t parts, depth;  // depth: of each part but the last
};

/// The rule of gemm.h
Split split_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t side = 128, blocks = 256, least = 256, unit = 32;
  if (m * n * k == 0) return {1, unit};
  const std::int64_t tiles = ((m + side - 1) / side) * ((n + side - 1) / side);
  const std::int64_t parts = std::max<std::int64_t>(std::min(blocks / tiles, k / least), 1);
  const std::int64_t depth = ((k + parts - 1) / parts + unit - 1) / unit * unit;
  return {(k + depth - 1) / depth, depth};
}

Split split_of(Gemm product, LinearShape shape) {
  const auto [rows, in, out] = shape;
  switch (product) {
    case Gemm::forward:
      return split_of(rows, out, in);
    case Gemm::input_gradient:
      return split_of(rows, in, out);
    default:
      return split_of(out, in, rows);
  }
}

int dimension(std::int64_t n) {
  if (n < 1 || n > std::numeric_limits<int>::max() - 1024)  // tiles reach beyond the last row
    throw std::invalid_argument("a matrix product with a dimension of " + std::to_string(n));
  return static_cast<int>(n);
}

/// a and b with their strides, k and the result's shape
template <class T>
Product<T> product_of(const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride, std::int64_t m, std::int64_t n,
                      std::int64_t k) {
  Product<T> p{};
  p.a = a, p.b = b, p.a_stride = a_stride, p.b_stride = b_stride, p.k = dimension(k);
  p.aligned = a_stride % Piece<T>::size == 0 && b_stride % Piece<T>::size == 0 && aligned16(a) && aligned16(b);
  p.epilogue.rows = dimension(m), p.epilogue.columns = dimension(n);
  return p;
}

template <class T>
void find_wide(Epilogue<T>& p, const float* parts) {
  p.wide = p.columns % 4 == 0 && aligned16(p.bias) && aligned16(p.before) && aligned16(p.pre) && aligned16(p.y) &&
           aligned16(p.sums) && aligned16(parts);
}

template <class T, bool a_across, bool b_across>
void run(Product<T> p, Split split, View scratch, const Target& target) {
  const auto count = narrow(split.parts);
  const std::int64_t m = p.epilogue.rows, n = p.epilogue.columns;
  p.depth = dimension(split.depth);
  find_wide<T>(p.epilogue, nullptr);
  if (count == 1) return launch_product<T, a_across, b_across>(p, 1, target);
  Epilogue<T> whole = p.epilogue;
  float* const parts = elements<float>(scratch, count * m * (p.row_sums ? n + 1 : n));
  find_wide(whole, parts);
  p.epilogue.form = Form::part, p.epilogue.sums = parts;
  p.epilogue.wide = whole.wide;
  p.epilogue.bias = nullptr;
  p.epilogue.before = nullptr;
  float* const row_sums = p.row_sums;
  if (row_sums) p.row_sums = parts + count * m * n;
  launch_product<T, a_across, b_across>(p, count, target);
  launch_sum<T>(parts, count, whole, target);
  if (!row_sums) return;
  Epilogue<T> sums{};
  sums.form = Form::accumulate, sums.sums = row_sums, sums.rows = 1, sums.columns = narrow(m);
  find_wide<T>(sums, p.row_sums);
  launch_sum<T>(p.row_sums, count, sums, target);
}

struct Forward {
  LinearShape shape;
  View x, weight, bias, y;
};

/// y [rows, out] = x W^T + bias, and what `form` and `set` make of its epilogue
template <class Set>
void run_forward(const Forward& op, Form form, View scratch, const Target& target, const Set& set) {
  const auto [rows, in, out] = op.shape;
  if (rows == 0) return;
  with_type(op.x.type, [&, n = rows, k = in, columns = out](auto zero) {
    using T = decltype(zero);
    Product<T> p = product_of<T>(elements<T>(op.x, n * k), k, elements<T>(op.weight, columns * k), k, n, columns, k);
    p.epilogue.form = form;
    if (op.bias) p.epilogue.bias = elements<T>(op.bias, columns);
    p.epilogue.y = elements<T>(op.y, n * columns);
    set(p.epilogue);
    run<T, false, false>(p, split_of(Gemm::forward, op.shape), scratch, target);
  });
}

/// dx [rows, in] = dy W; with `pre` times gelu'(pre)
void run_input_gradient(LinearShape shape, View dy, View weight, View pre, View dx, View scratch, const Target& target) {
  const auto [rows, in, out] = shape;
  if (rows == 0) return;
  with_type(dy.type, [&, n = rows, columns = in, k = out](auto zero) {
    using T = decltype(zero);
    Product<T> p = product_of<T>(elements<T>(dy, n * k), k, elements<T>(weight, k * columns), columns, n, columns, k);
    p.epilogue.form = pre ? Form::gelu_gradient : Form::plain;
    if (pre) p.epilogue.before = elements<T>(pre, n * columns);
    p.epilogue.y = elements<T>(dx, n * columns);
    run<T, false, true>(p, split_of(Gemm::input_gradient, shape), scratch, target);
  });
}

}  // namespace

std::int64_t gemm_scratch(Gemm product, LinearShape shape) {
  const auto [rows, in, out] = shape;
  const std::int64_t parts = split_of(product, shape).parts;
  if (parts == 1) return 0;
  return parts * (product == Gemm::forward ? rows * out : product == Gemm::input_gradient ? rows * in : out * (in + 1));
}

cost::Cost gemm_cost(Gemm product, LinearShape shape, cost::Cost declared) {
  return declared + cost::moves(0, 2 * gemm_scratch(product, shape), 4);
}

void linear(LinearShape shape, View x, View weight, View bias, View y, View scratch, const Target& target) {
  run_forward({shape, x, weight, bias, y}, Form::plain, scratch, target, [](auto&) {});
}

void linear_gelu(const LinearGelu& op, View scratch, const Target& target) {
  run_forward({op.shape, op.x, op.weight, op.bias, op.y}, Form::gelu, scratch, target,
              [&]<class T>(Epilogue<T>& p) { p.pre = elements<T>(op.pre, op.shape.rows * op.shape.out); });
}

void linear_residual(const Kernels::LinearResidual& op, View scratch, const Target& target) {
  if (op.rows.count() != op.shape.rows) throw std::logic_error("linear_residual: other rows than the shape's");
  run_forward({op.shape, op.x, op.weight, op.bias, op.y}, Form::residual, scratch, target, [&]<class T>(Epilogue<T>& p) {
    p.before = elements<T>(op.residual, op.shape.rows * op.shape.out);
    p.masks = masks_of(op.rows, op.dropout);
  });
}

void linear_input_gradient(LinearShape shape, View dy, View weight, View dx, View scratch, const Target& target) {
  run_input_gradient(shape, dy, weight, {}, dx, scratch, target);
}

void linear_input_gradient_gelu(LinearShape shape, View dy, View weight, View pre, View dpre, View scratch,
                                const Target& target) {
  run_input_gradient(shape, dy, weight, pre, dpre, scratch, target);
}

void linear_weight_gradient(LinearShape shape, View dy, View x, View dweight, View dbias, View scratch, const Target& target) {
  const auto [rows, in, out] = shape;
  if (rows == 0) return;
  with_type(dy.type, [&, k = rows, n = in, m = out](auto zero) {
    using T = decltype(zero);
    Product<T> p = product_of<T>(elements<T>(dy, k * m), m, elements<T>(x, k * n), n, m, n, k);
    p.epilogue.form = Form::accumulate;
    p.epilogue.sums = elements<float>(dweight, m * n);
    if (dbias) p.row_sums = elements<float>(dbias, m);
    run<T, true, true>(p, split_of(Gemm::weight_gradient, shape), scratch, target);
  });
}

}  // namespace trireme::kernels::cuda
