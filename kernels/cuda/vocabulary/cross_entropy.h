// Launchers of the cross-entropy over a vocabulary range: the operations of kernels.h of these names. logits are bf16, fp16 or
// fp32, targets int32, all else fp32. flops and bytes: cost.h, of the same names.
#pragma once

#include "kernels/cuda/target.h"
#include "kernels/kernels.h"

namespace trireme::kernels::cuda {

/// Not-a-numbers do not count here: they show in the sums.
void cross_entropy_maximum(std::int64_t rows, View logits, VocabularyRange range, View maximum, const Target& target);

/// sums are of the exponentials before they are rounded to the type of the logits.
void cross_entropy_sums(const Kernels::CrossEntropySums& op, const Target& target);

void cross_entropy_gradient(const Kernels::CrossEntropyGradient& op, const Target& target);

}  // namespace trireme::kernels::cuda
