// The pipelined product of Hopper against plain loops in double, as a check that says whether all was right.
#pragma once

#include "validation/rehearsal/pipeline_sm90.h"
#include "validation/unit/kernels/reference_kernels.h"
#include "validation/unit/simt/tensors.h"

namespace trireme::simt {

using kernels::LinearShape;

/// Sums of `in` products, each rounded to fp32; the terms are of the size of the result times sqrt(in) at most.
inline bool pipelined_is_right(LinearShape shape, int multiprocessors) {
  const auto [rows, in, out] = shape;
  const Reals x_values = Tensor<bf16>::random(1, rows * in);
  const Reals weight_values = Tensor<bf16>::random(2, out * in, 1 / std::sqrt(static_cast<double>(in)));
  Tensor<bf16> x(x_values), weight(weight_values), y(rows * out);
  kernels::cuda::linear_pipelined(shape, x, weight, y, {nullptr, 90, multiprocessors});
  return close(y, kernels::reference::linear(shape, x_values, weight_values, {}), 8 + 2 * static_cast<double>(in), "y");
}

}  // namespace trireme::simt
