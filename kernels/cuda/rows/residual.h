// Launchers of what follows a row-parallel product, and of dropout: the operations of kernels.h of these names. All activations
// and the bias have one type, bf16, fp16 or fp32, that of x (or dy); dbias is fp32. flops and bytes: cost.h, of the same names.
#pragma once

#include "kernels/cuda/target.h"
#include "kernels/kernels.h"

namespace trireme::kernels::cuda {

void bias_residual(const Kernels::BiasResidual& op, const Target& target);

/// fp32 elements that bias_residual_backward needs as scratch
std::int64_t bias_residual_scratch(Rows rows, std::int64_t hidden);

/// The arguments of the operation of kernels.h
struct BiasResidualBackward {
  Rows rows;
  std::int64_t hidden;
  View dy;
  Dropout dropout = {};
  View dx, dbias;
};
/// Deterministic: the order of the sums follows from the shape alone. dbias sums dx before it is rounded to its type.
void bias_residual_backward(const BiasResidualBackward& op, View scratch, const Target& target);

void dropout(Rows rows, std::int64_t hidden, View x, Dropout dropout, View y, const Target& target);

}  // namespace trireme::kernels::cuda
