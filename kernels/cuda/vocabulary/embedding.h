// Launchers of the embedding: the operations of kernels.h of these names. Activations, table and positions have one type, bf16,
// fp16 or fp32; tokens are int32, gradients of table and positions fp32. flops and bytes: cost.h, of the same names.
#pragma once

#include "kernels/cost.h"
#include "kernels/cuda/target.h"
#include "kernels/kernels.h"

namespace trireme::kernels::cuda {

void embedding(const Kernels::Embedding& op, const Target& target);

/// int32 elements that embedding_backward needs as scratch, beginning at a multiple of 8 bytes
std::int64_t embedding_scratch(Rows rows);

/// What embedding_backward moves when all tokens differ: beside cost.h's the sorted tokens, and dy a second time for positions
cost::Cost embedding_backward_cost(Rows rows, std::int64_t hidden, std::int64_t width, bool with_positions);

/// Deterministic. The n tokens are sorted by n^2 comparisons (2.7e8 at n = 16384, three integer instructions each: by count some
/// 50 us of an A100, a tenth of what the bytes take at h = 12288), then each token's rows of dy are summed by one block for 128
/// pieces of 16 bytes of columns, eight rows under way at once. A token that fills the microbatch thus leaves h / 1024 blocks
/// (bf16) to sum n rows each, which costs latency, not bytes.
void embedding_backward(const Kernels::EmbeddingBackward& op, View scratch, const Target& target);

}  // namespace trireme::kernels::cuda
