// Layer norm on a GPU against plain loops in double, as a check that says whether all was right: the tests demand that it
// passes, the mutation check that it does not.
#pragma once

#include "kernels/cuda/rows/layer_norm.h"
#include "validation/unit/kernels/reference_kernels.h"
#include "validation/unit/simt/tensors.h"

namespace trireme::simt {

namespace reference = kernels::reference;
using kernels::Dropout;
using kernels::Rows;

// Roundings of fp32 on the way: two sums of a tree of at most 64 + 9 + 16 terms in a row, a root, five operations.
constexpr double norm_errors = 128;

/// Empty x_values: N(0, 1)
template <class T>
bool forward_is_right(std::int64_t rows, std::int64_t hidden, Reals x_values = {}) {
  if (x_values.empty()) x_values = Tensor<T>::random(1, rows * hidden);
  const Reals gain_values = Tensor<T>::random(2, hidden), bias_values = Tensor<T>::random(3, hidden);
  Tensor<T> x(x_values), gain(gain_values), bias(bias_values), y(rows * hidden);
  Tensor<float> mean(rows), rstd(rows);
  kernels::cuda::layer_norm(
      {.rows = rows, .hidden = hidden, .x = x, .gain = gain, .bias = bias, .y = y, .mean = mean, .rstd = rstd}, null_stream);
  const auto expected = reference::layer_norm(rows, hidden, x_values, gain_values, bias_values);
  return close(y, expected.y, norm_errors, "y") && close(mean, expected.mean, norm_errors, "mean") &&
         close(rstd, expected.rstd, norm_errors, "rstd");
}

template <class T>
bool residual_is_right(Rows rows, std::int64_t hidden, float rate) {
  const std::int64_t n = rows.count();
  const Reals x_values = Tensor<T>::random(1, n * hidden), linear_bias_values = Tensor<T>::random(2, hidden);
  const Reals residual_values = Tensor<T>::random(3, n * hidden), gain_values = Tensor<T>::random(4, hidden),
              bias_values = Tensor<T>::random(5, hidden);
  Tensor<T> x(x_values), linear_bias(linear_bias_values), residual(residual_values), gain(gain_values), bias(bias_values),
      sum(n * hidden), y(n * hidden);
  Tensor<float> mean(n), rstd(n);
  const Dropout dropout{rate, 0x123456789abcdefull, 40};
  kernels::cuda::residual_layer_norm({.rows = rows,
                                      .hidden = hidden,
                                      .x = x,
                                      .linear_bias = linear_bias,
                                      .dropout = dropout,
                                      .residual = residual,
                                      .sum = sum,
                                      .gain = gain,
                                      .bias = bias,
                                      .y = y,
                                      .mean = mean,
                                      .rstd = rstd},
                                     null_stream);
  if (!close(sum, reference::bias_residual(rows, hidden, x_values, linear_bias_values, dropout, residual_values), 8, "sum"))
    return false;
  const auto expected = reference::layer_norm(n, hidden, sum.reals(), gain_values, bias_values);  // of the sum as stored
  return close(y, expected.y, norm_errors, "y") && close(mean, expected.mean, norm_errors, "mean") &&
         close(rstd, expected.rstd, norm_errors, "rstd");
}

struct NormGradients {
  Reals dx, dgain, dbias;
};
/// The formula of kernels.h, as plain loops
inline NormGradients norm_gradients(std::int64_t rows, std::int64_t hidden, const Reals& dy, const Reals& x, const Reals& gain) {
  NormGradients result{Reals(x.size()), Reals(gain.size()), Reals(gain.size())};
  const auto normed = reference::layer_norm(rows, hidden, x, Reals(gain.size(), 1), Reals(gain.size(), 0));
  for (std::int64_t row = 0; row < rows; ++row) {
    double a = 0, b = 0;
    for (std::int64_t c = 0; c < hidden; ++c) {
      const auto i = static_cast<std::size_t>(row * hidden + c), column = static_cast<std::size_t>(c);
      result.dgain[column] += dy[i] * normed.y[i];
      result.dbias[column] += dy[i];
      a += dy[i] * gain[column] / static_cast<double>(hidden);
      b += dy[i] * gain[column] * normed.y[i] / static_cast<double>(hidden);
    }
    for (std::int64_t c = 0; c < hidden; ++c) {
      const auto i = static_cast<std::size_t>(row * hidden + c);
      result.dx[i] =
          normed.rstd[static_cast<std::size_t>(row)] * (dy[i] * gain[static_cast<std::size_t>(c)] - a - normed.y[i] * b);
    }
  }
  return result;
}

/// Empty x_values: N(0, 1)
template <class T>
bool backward_is_right(std::int64_t rows, std::int64_t hidden, bool with_residual, Reals x_values = {}) {
  if (x_values.empty()) x_values = Tensor<T>::random(1, rows * hidden);
  const Reals dy_values = Tensor<T>::random(2, rows * hidden), gain_values = Tensor<T>::random(3, hidden);
  const Reals residual = Tensor<T>::random(4, rows * hidden);
  const Reals before = Tensor<float>::random(5, hidden);  // in dgain and dbias
  const auto normed = reference::layer_norm(rows, hidden, x_values, gain_values, gain_values);
  Tensor<T> x(x_values), dy(dy_values), gain(gain_values), dx(residual);
  Tensor<float> mean(normed.mean), rstd(normed.rstd), dgain(before), dbias(before);
  Tensor<float> scratch(kernels::cuda::layer_norm_scratch(rows, hidden));
  const View through = with_residual ? View(dx) : View{};
  kernels::cuda::layer_norm_backward({.rows = rows,
                                      .hidden = hidden,
                                      .dy = dy,
                                      .x = x,
                                      .gain = gain,
                                      .mean = mean,
                                      .rstd = rstd,
                                      .dresidual = through,
                                      .dx = dx,
                                      .dgain = dgain,
                                      .dbias = dbias},
                                     scratch, null_stream);
  NormGradients expected = norm_gradients(rows, hidden, dy_values, x_values, gain_values);
  for (std::size_t i = 0; i < expected.dx.size() && with_residual; ++i) expected.dx[i] += residual[i];
  for (std::size_t i = 0; i < before.size(); ++i) expected.dgain[i] += before[i], expected.dbias[i] += before[i];
  return close(dx, expected.dx, norm_errors, "dx") && close(dgain, expected.dgain, norm_errors, "dgain") &&
         close(dbias, expected.dbias, norm_errors, "dbias");
}

}  // namespace trireme::simt
