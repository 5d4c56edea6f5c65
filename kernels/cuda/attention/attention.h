// Launcher of attention's forward pass: the operation of kernels.h of this name. qkv and out have one type, bf16, fp16 or fp32;
// log_sum is fp32. flops and bytes: cost.h, of the same name.
#pragma once

#include "kernels/cuda/target.h"
#include "kernels/kernels.h"

namespace trireme::kernels::cuda {

/// The largest head of the fp32 form
constexpr std::int64_t attention_fp32_limit = 256;

/// bf16 and fp16: tensor cores, heads of 64, 80, 96 or 128 elements, qkv and out at multiples of 16 bytes; probabilities are
/// rounded to the type before they meet the values. fp32: heads of up to 256. Others are a std::invalid_argument.
void attention(AttentionShape shape, View qkv, Dropout dropout, View out, View log_sum, const Target& target);

/// What `attention` does for fp32
void attention_fp32(AttentionShape shape, View qkv, Dropout dropout, View out, View log_sum, const Target& target);

}  // namespace trireme::kernels::cuda
