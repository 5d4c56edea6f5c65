// Launchers of layer norm: the operations of kernels.h of these names. All activations, gain and bias have one type, bf16, fp16
// or fp32, that of x; mean, rstd, dgain and dbias are fp32. flops and bytes: cost.h, of the same names.
#pragma once

#include "kernels/cost.h"
#include "kernels/cuda/target.h"
#include "kernels/kernels.h"

namespace trireme::kernels::cuda {

/// The longest row, so that a column has 32 bits; longer ones are a std::invalid_argument
constexpr std::int64_t layer_norm_limit = std::int64_t{1} << 30;

void layer_norm(const Kernels::LayerNorm& op, const Target& target);

/// The norm is that of `sum` as rounded to its type.
void residual_layer_norm(const Kernels::ResidualLayerNorm& op, const Target& target);

/// fp32 elements that layer_norm_backward needs as scratch
std::int64_t layer_norm_scratch(std::int64_t rows, std::int64_t hidden);

/// What layer_norm_backward moves: beside cost.h's the parts of the weight gradients, and for rows too long for shared memory dy
/// and x a second time
cost::Cost layer_norm_backward_cost(std::int64_t rows, std::int64_t hidden, std::int64_t width);

/// Deterministic: the order of the weight gradients' sums follows from the shape alone.
void layer_norm_backward(const Kernels::LayerNormBackward& op, View scratch, const Target& target);

}  // namespace trireme::kernels::cuda
