// What each operation of kernels.h does: flops of its matrix products (a multiplication and an addition each; what is
// elementwise is paid for in bytes) and bytes of the operands that must be read or written once at least. Trace, planner and
// bench all read these. `width` is the bytes of an element of the compute type; sums, moments and gradients of weights have 4.
#pragma once

#include "kernels/kernels.h"

namespace trireme::kernels::cost {

struct Cost {
  double flops = 0, bytes = 0;
};

constexpr Cost operator+(Cost a, Cost b) { return {a.flops + b.flops, a.bytes + b.bytes}; }

/// An operation that reads or writes so many elements of the compute type and of fp32 (or indices of 4 bytes)
constexpr Cost moves(std::int64_t elements, std::int64_t fp32_elements, std::int64_t width) {
  return {0, static_cast<double>(elements * width + 4 * fp32_elements)};
}

/// The product alone: 2 n in out flops; x, W and y once
constexpr Cost product(LinearShape shape, std::int64_t width) {
  const Cost operands = moves(shape.rows * (shape.in + shape.out) + shape.in * shape.out, 0, width);
  return {2.0 * static_cast<double>(shape.rows) * static_cast<double>(shape.in) * static_cast<double>(shape.out), operands.bytes};
}

constexpr Cost linear(LinearShape shape, std::int64_t width = 4) { return product(shape, width) + moves(shape.out, 0, width); }
constexpr Cost linear_gelu(LinearShape shape, std::int64_t width = 4) {
  return linear(shape, width) + moves(shape.rows * shape.out, 0, width);
}
constexpr Cost linear_residual(LinearShape shape, std::int64_t width = 4) {
  return linear(shape, width) + moves(shape.rows * shape.out, 0, width);
}
constexpr Cost linear_input_gradient(LinearShape shape, std::int64_t width = 4) { return product(shape, width); }
constexpr Cost linear_input_gradient_gelu(LinearShape shape, std::int64_t width = 4) {
  return product(shape, width) + moves(shape.rows * shape.in, 0, width);
}
/// dW is read and written
constexpr Cost linear_weight_gradient(LinearShape shape, std::int64_t width = 4) {
  const Cost operands = moves(shape.rows * (shape.in + shape.out), 2 * shape.out * (shape.in + 1), width);
  return {product(shape, width).flops, operands.bytes};
}

constexpr Cost bias_residual(Rows rows, std::int64_t hidden, std::int64_t width = 4) {
  return moves((3 * rows.count() + 1) * hidden, 0, width);
}
constexpr Cost bias_residual_backward(Rows rows, std::int64_t hidden, std::int64_t width = 4) {
  return moves(2 * rows.count() * hidden, 2 * hidden, width);
}

constexpr Cost layer_norm(std::int64_t rows, std::int64_t hidden, std::int64_t width = 4) {
  return moves((2 * rows + 2) * hidden, 2 * rows, width);
}
constexpr Cost residual_layer_norm(Rows rows, std::int64_t hidden, std::int64_t width = 4) {
  return moves((4 * rows.count() + 3) * hidden, 2 * rows.count(), width);
}
constexpr Cost layer_norm_backward(std::int64_t rows, std::int64_t hidden, std::int64_t width = 4) {
  return moves((4 * rows + 1) * hidden, 2 * rows + 4 * hidden, width);
}

/// Pairs of a query and a key it sees, of all heads and samples: the causal half, not s^2
constexpr double visible_pairs(AttentionShape shape) {
  const auto s = static_cast<double>(shape.rows.sequence);
  return static_cast<double>(shape.rows.batch * shape.heads) * s * (s + 1) / 2;
}
/// Two products of h/a a pair
constexpr Cost attention(AttentionShape shape, std::int64_t width = 4) {
  const std::int64_t vectors = shape.rows.count() * shape.heads;
  const Cost operands = moves(4 * vectors * shape.head_size, vectors, width);
  return {4 * static_cast<double>(shape.head_size) * visible_pairs(shape), operands.bytes};
}
/// Five products of h/a a pair: the scores again, dP, dV, dQ, dK
constexpr Cost attention_backward(AttentionShape shape, std::int64_t width = 4) {
  const std::int64_t vectors = shape.rows.count() * shape.heads;
  const Cost operands = moves(8 * vectors * shape.head_size, vectors, width);
  return {10 * static_cast<double>(shape.head_size) * visible_pairs(shape), operands.bytes};
}

constexpr Cost embedding(Rows rows, std::int64_t hidden, std::int64_t width = 4) {
  return moves((2 * rows.count() + rows.sequence) * hidden, rows.count(), width);
}
constexpr Cost dropout(Rows rows, std::int64_t hidden, std::int64_t width = 4) {
  return moves(2 * rows.count() * hidden, 0, width);
}
constexpr Cost embedding_backward(Rows rows, std::int64_t hidden, std::int64_t width = 4) {
  return moves(rows.count() * hidden, rows.count() + 2 * (rows.count() + rows.sequence) * hidden, width);
}

constexpr Cost cross_entropy_maximum(std::int64_t rows, VocabularyRange range, std::int64_t width = 4) {
  return moves(rows * range.valid, rows, width);
}
constexpr Cost cross_entropy_sums(std::int64_t rows, VocabularyRange range, std::int64_t width = 4) {
  return moves(2 * rows * range.rows, 4 * rows, width);
}
constexpr Cost cross_entropy_gradient(std::int64_t rows, VocabularyRange range, std::int64_t width = 4) {
  return moves(2 * rows * range.rows, 4 * rows, width);
}

/// Weight and both moments are read and written, the gradient read; with a compute type other than fp32 its copy is written too
constexpr Cost adamw(std::int64_t elements, std::int64_t width = 4) {
  return moves(width == 4 ? 0 : elements, 7 * elements, width);
}
constexpr Cost add(std::int64_t elements) { return moves(0, 3 * elements, 4); }
/// Between fp32 and a type of `width` bytes
constexpr Cost cast(std::int64_t elements, std::int64_t width) { return moves(elements, elements, width); }
constexpr Cost squared_norm(std::int64_t elements) { return moves(0, elements, 4); }
constexpr Cost sum(std::int64_t elements) { return moves(0, elements, 4); }
constexpr Cost non_finite_count(std::int64_t elements) { return moves(0, elements, 4); }

}  // namespace trireme::kernels::cost
