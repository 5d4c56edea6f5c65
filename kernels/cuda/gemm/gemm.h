// Launchers of the matrix products of a linear layer: the operations of kernels.h of these names, for bf16 and fp16 on tensor
// cores and for fp32. All activations, weights and biases have the type of the first operand; products are summed in fp32.
//
// A result [m, n] of few tiles would leave most of a device idle, so the sum over k is cut into parts, that a second kernel adds
// in order: as many as bring 256 blocks of 128 x 128 results, each of at least 256 of k, a multiple of 32. Their number follows
// from the shape alone: results depend neither on the device nor on the order of its blocks.
#pragma once

#include "kernels/cost.h"
#include "kernels/cuda/target.h"
#include "kernels/kernels.h"

namespace trireme::kernels::cuda {

/// Which of a linear layer's three products
enum class Gemm { forward, input_gradient, weight_gradient };

/// fp32 elements that the operations of this product need as scratch: 4.3 million at most; 0: none, as when m and n are large
std::int64_t gemm_scratch(Gemm product, LinearShape shape);
/// What an operation really moves: `declared` by cost.h, and the parts of the sum written and read
cost::Cost gemm_cost(Gemm product, LinearShape shape, cost::Cost declared);

/// The arguments of the operation of kernels.h
struct LinearGelu {
  LinearShape shape;
  View x, weight, bias, pre, y;
};

void linear(LinearShape shape, View x, View weight, View bias, View y, View scratch, const Target& target);
void linear_gelu(const LinearGelu& op, View scratch, const Target& target);
void linear_residual(const Kernels::LinearResidual& op, View scratch, const Target& target);
void linear_input_gradient(LinearShape shape, View dy, View weight, View dx, View scratch, const Target& target);
void linear_input_gradient_gelu(LinearShape shape, View dy, View weight, View pre, View dpre, View scratch, const Target& target);
void linear_weight_gradient(LinearShape shape, View dy, View x, View dweight, View dbias, View scratch, const Target& target);

}  // namespace trireme::kernels::cuda
