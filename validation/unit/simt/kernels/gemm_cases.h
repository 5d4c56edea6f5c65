// Linear layers on a GPU against plain loops in double, as checks that say whether all was right.
#pragma once

#include "kernels/cuda/gemm/gemm.h"
#include "validation/unit/kernels/reference_kernels.h"
#include "validation/unit/simt/tensors.h"

namespace trireme::simt {

using kernels::Dropout;
using kernels::LinearShape;
using kernels::Rows;
using kernels::cuda::Gemm;

/// Roundings of fp32: one for each product and sum, of terms of the size of the result times sqrt(k) at most
inline double product_errors(std::int64_t k) { return 8 + 2 * static_cast<double>(k); }

/// [rows, columns] -> [columns, rows]
inline Reals transposed(const Reals& matrix, std::int64_t rows, std::int64_t columns) {
  Reals result;
  for (std::int64_t c = 0; c < columns; ++c)
    for (std::int64_t r = 0; r < rows; ++r) result.push_back(matrix[static_cast<std::size_t>(r * columns + c)]);
  return result;
}

/// As large as the product demands; a null view when it needs none, so that one who uses it all the same is noticed
class Scratch {
 public:
  Scratch(Gemm product, LinearShape shape) : needed_(kernels::cuda::gemm_scratch(product, shape)), memory_(needed_) {}
  operator View() { return needed_ > 0 ? View(memory_) : View{}; }

 private:
  std::int64_t needed_;
  Tensor<float> memory_;
};

/// x, W and b whose results are of size 1 or so
template <class T>
struct LinearCase {
  explicit LinearCase(LinearShape s)
      : shape(s),
        x_values(Tensor<T>::random(1, s.rows * s.in)),
        weight_values(Tensor<T>::random(2, s.out * s.in, 1 / std::sqrt(static_cast<double>(s.in)))),
        bias_values(Tensor<T>::random(3, s.out)),
        x(x_values),
        weight(weight_values),
        bias(bias_values),
        y(s.rows * s.out),
        scratch(Gemm::forward, s) {}
  /// x W^T + bias
  Reals expected(bool with_bias = true) const {
    return kernels::reference::linear(shape, x_values, weight_values, with_bias ? bias_values : Reals{});
  }
  LinearShape shape;
  Reals x_values, weight_values, bias_values;
  Tensor<T> x, weight, bias, y;
  Scratch scratch;
};

template <class T>
bool linear_is_right(LinearShape shape, bool with_bias) {
  LinearCase<T> c(shape);
  kernels::cuda::linear(shape, c.x, c.weight, with_bias ? View(c.bias) : View{}, c.y, c.scratch, null_stream);
  return close(c.y, c.expected(with_bias), product_errors(shape.in), "y");
}

template <class T>
bool linear_gelu_is_right(LinearShape shape) {
  LinearCase<T> c(shape);
  Tensor<T> pre(shape.rows * shape.out);
  kernels::cuda::linear_gelu({.shape = shape, .x = c.x, .weight = c.weight, .bias = c.bias, .pre = pre, .y = c.y}, c.scratch,
                             null_stream);
  const Reals expected = c.expected();
  return close(pre, expected, product_errors(shape.in), "pre") &&
         close(c.y, kernels::reference::gelu(expected), product_errors(shape.in), "gelu");
}

/// `same`: y is the residual
template <class T>
bool linear_residual_is_right(Rows rows, std::int64_t in, std::int64_t out, float rate, bool same) {
  const LinearShape shape{rows.count(), in, out};
  const Dropout dropout{rate, 0x123456789abcdefull, 40};
  LinearCase<T> c(shape);
  const Reals residual = Tensor<T>::random(4, shape.rows * out);
  Tensor<T> r(residual);
  kernels::cuda::linear_residual({.shape = shape,
                                  .rows = rows,
                                  .x = c.x,
                                  .weight = c.weight,
                                  .bias = c.bias,
                                  .dropout = dropout,
                                  .residual = r,
                                  .y = same ? View(r) : View(c.y)},
                                 c.scratch, null_stream);
  const Reals expected = kernels::reference::bias_residual(rows, out, c.expected(false), c.bias_values, dropout, residual);
  return close(same ? r : c.y, expected, product_errors(in) / (1 - static_cast<double>(rate)), "y with residual");
}

/// gelu' by central differences: to 1e-10
inline Reals gelu_slopes(const Reals& x) {
  constexpr double step = 1e-5;
  Reals above = x, below = x;
  for (double& v : above) v += step;
  for (double& v : below) v -= step;
  above = kernels::reference::gelu(above), below = kernels::reference::gelu(below);
  for (std::size_t i = 0; i < x.size(); ++i) above[i] = (above[i] - below[i]) / (2 * step);
  return above;
}

template <class T>
bool input_gradient_is_right(LinearShape shape, bool through_gelu) {
  const auto [rows, in, out] = shape;
  const Reals dy_values = Tensor<T>::random(1, rows * out), pre_values = Tensor<T>::random(3, rows * in);
  const Reals weight_values = Tensor<T>::random(2, out * in, 1 / std::sqrt(static_cast<double>(out)));
  Tensor<T> dy(dy_values), weight(weight_values), pre(pre_values), dx(rows * in);
  Scratch scratch(Gemm::input_gradient, shape);
  Reals expected = kernels::reference::linear({rows, out, in}, dy_values, transposed(weight_values, out, in), {});
  if (through_gelu) {
    kernels::cuda::linear_input_gradient_gelu(shape, dy, weight, pre, dx, scratch, null_stream);
    const Reals slopes = gelu_slopes(pre_values);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] *= slopes[i];
  } else {
    kernels::cuda::linear_input_gradient(shape, dy, weight, dx, scratch, null_stream);
  }
  return close(dx, expected, product_errors(out), through_gelu ? "dpre" : "dx");
}

/// gelu' of numbers far from 0: 0 or 1, or not a number
template <class T>
bool far_slopes_are_right() {
  const Reals pre_values{12, -12, 1e3, -1e3, 6e4, -6e4, 1e13, -1e13, 1e30, -1e30, INFINITY, -INFINITY, std::nan("")};
  const auto n = static_cast<std::int64_t>(pre_values.size());
  Tensor<T> pre(pre_values), dy(Reals(1, 1)), weight(Reals(pre_values.size(), 1)), dx(n);
  kernels::cuda::linear_input_gradient_gelu({1, n, 1}, dy, weight, pre, dx, {}, null_stream);
  const Reals slopes = dx.reals();
  for (std::size_t i = 0; i + 1 < slopes.size(); ++i)
    if (!(std::abs(slopes[i] - (pre_values[i] > 0 ? 1 : 0)) < 1e-20)) {
      ADD_FAILURE() << "gelu' of " << pre_values[i] << " is " << slopes[i];
      return false;
    }
  return std::isnan(slopes.back());
}

template <class T>
bool weight_gradient_is_right(LinearShape shape, bool with_bias) {
  const auto [rows, in, out] = shape;
  const double size = 1 / std::sqrt(static_cast<double>(rows));
  const Reals dy_values = Tensor<T>::random(1, rows * out, size), x_values = Tensor<T>::random(2, rows * in);
  const Reals dweight_values = Tensor<float>::random(3, out * in), dbias_values = Tensor<float>::random(4, out);  // before
  Tensor<T> dy(dy_values), x(x_values);
  Tensor<float> dweight(dweight_values), dbias(dbias_values);
  Scratch scratch(Gemm::weight_gradient, shape);
  kernels::cuda::linear_weight_gradient(shape, dy, x, dweight, with_bias ? View(dbias) : View{}, scratch, null_stream);
  Reals expected =
      kernels::reference::linear({out, rows, in}, transposed(dy_values, rows, out), transposed(x_values, rows, in), {});
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += dweight_values[i];
  Reals sums = dbias_values;
  for (std::size_t i = 0; i < dy_values.size() && with_bias; ++i) sums[i % sums.size()] += dy_values[i];
  return close(dweight, expected, product_errors(rows), "dweight") && close(dbias, sums, product_errors(rows), "dbias");
}

}  // namespace trireme::simt
