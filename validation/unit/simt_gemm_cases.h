// Linear layers on a GPU against plain loops in double, as a check that says whether all was right.
#pragma once

#include "kernels/cuda/gemm.h"
#include "validation/unit/reference_kernels.h"
#include "validation/unit/simt_tensors.h"

namespace trireme::simt {

using kernels::LinearShape;

/// with_bias: for the form without GELU. Sums of `in` products, each rounded to fp32; the terms are of the size of the result
/// times sqrt(in) at most.
template <class T>
bool linear_is_right(LinearShape shape, bool with_bias, bool with_gelu) {
  const auto [rows, in, out] = shape;
  const Reals x = Tensor<T>::random(1, rows * in), bias = Tensor<T>::random(3, out);
  const Reals weight = Tensor<T>::random(2, out * in, 1 / std::sqrt(static_cast<double>(in)));
  Tensor<T> x_(x), weight_(weight), bias_(bias), pre(rows * out), y(rows * out);
  const double errors = 8 + 2 * static_cast<double>(in);
  const Reals expected = kernels::reference::linear(shape, x, weight, with_bias || with_gelu ? bias : Reals{});
  if (!with_gelu) {
    kernels::cuda::linear(shape, x_, weight_, with_bias ? View(bias_) : View{}, y, nullptr);
    return close(y, expected, errors, "y");
  }
  kernels::cuda::linear_gelu(shape, x_, weight_, bias_, pre, y, nullptr);
  return close(pre, expected, errors, "pre") && close(y, kernels::reference::gelu(expected), errors, "y");
}

}  // namespace trireme::simt
