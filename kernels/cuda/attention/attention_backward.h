// Launcher of attention's backward pass: the operation of kernels.h. qkv, out and their gradients have one type, bf16, fp16 or
// fp32; log_sum is fp32.
#pragma once

#include "kernels/cost.h"
#include "kernels/cuda/target.h"
#include "kernels/kernels.h"

namespace trireme::kernels::cuda {

/// fp32 elements that attention_backward needs as scratch
std::int64_t attention_backward_scratch(AttentionShape shape);

/// Deterministic: no sum depends on the order of blocks. Head sizes are 64, 80, 96 and 128, all of memory begins at multiples of
/// 16 bytes; in fp32 they go up to 256. Others are a std::invalid_argument.
void attention_backward(const Kernels::AttentionBackward& op, View scratch, const Target& target);

/// What it does, where cost::attention_backward says what must be done: scores and dP are computed twice, for the gradients of
/// keys and values and for those of queries; qkv and dout are read by both, dout and out before for rowsum(dout * out).
constexpr cost::Cost attention_backward_cost(AttentionShape shape, std::int64_t width) {
  const std::int64_t vectors = shape.rows.count() * shape.heads;
  const cost::Cost operands = cost::moves(13 * vectors * shape.head_size, 5 * vectors, width);
  return {14 * static_cast<double>(shape.head_size) * cost::visible_pairs(shape), operands.bytes};
}

}  // namespace trireme::kernels::cuda
