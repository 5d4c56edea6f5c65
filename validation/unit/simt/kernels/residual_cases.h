// What follows a row-parallel product, on a GPU against plain loops in double, as checks that say whether all was right.
#pragma once

#include "kernels/cuda/rows/residual.h"
#include "validation/unit/kernels/reference_kernels.h"
#include "validation/unit/simt/tensors.h"

namespace trireme::simt {

namespace reference = kernels::reference;
using kernels::Dropout;
using kernels::Rows;

constexpr double residual_errors = 8;  // roundings of fp32: two additions, a multiplication, the scale

/// y is the memory of x, as the model has it
template <class T>
bool bias_residual_is_right(Rows rows, std::int64_t hidden, Dropout dropout) {
  const Reals x = Tensor<T>::random(1, rows.count() * hidden), bias_values = Tensor<T>::random(2, hidden);
  const Reals residual_values = Tensor<T>::random(3, rows.count() * hidden);
  Tensor<T> y(x), bias(bias_values), residual(residual_values);
  kernels::cuda::bias_residual(
      {.rows = rows, .hidden = hidden, .x = y, .bias = bias, .dropout = dropout, .residual = residual, .y = y}, null_stream);
  return close(y, reference::bias_residual(rows, hidden, x, bias_values, dropout, residual_values), residual_errors, "y");
}

template <class T>
bool dropout_is_right(Rows rows, std::int64_t hidden, Dropout dropout) {
  const Reals x_values = Tensor<T>::random(1, rows.count() * hidden);
  Tensor<T> x(x_values), y(rows.count() * hidden);
  kernels::cuda::dropout(rows, hidden, x, dropout, y, null_stream);
  const Reals expected = reference::dropout(rows, hidden, x_values, dropout);
  kernels::cuda::dropout(rows, hidden, x, dropout, x, null_stream);
  return close(y, expected, residual_errors, "y") && close(x, expected, residual_errors, "in place");
}

/// Sums of n terms of the size of dy: at most n roundings of their sum's size
template <class T>
bool bias_residual_backward_is_right(Rows rows, std::int64_t hidden, Dropout dropout, bool in_place) {
  const std::int64_t n = rows.count();
  const Reals dy_values = Tensor<T>::random(1, n * hidden), before = Tensor<float>::random(2, hidden);
  Tensor<T> dy(dy_values), dx(n * hidden);
  Tensor<float> dbias(before), scratch(kernels::cuda::bias_residual_scratch(rows, hidden));
  Tensor<T>& to = in_place ? dy : dx;
  kernels::cuda::bias_residual_backward({.rows = rows, .hidden = hidden, .dy = dy, .dropout = dropout, .dx = to, .dbias = dbias},
                                        scratch, null_stream);
  const Reals expected = reference::dropout(rows, hidden, dy_values, dropout);
  Reals sums = before;
  for (std::size_t i = 0; i < expected.size(); ++i) sums[i % before.size()] += expected[i];
  return close(to, expected, residual_errors, "dx") && close(dbias, sums, residual_errors + static_cast<double>(n), "dbias");
}

}  // namespace trireme::simt
