// Operands that begin an element after a multiple of 16 bytes: the kernel takes them, or the launcher refuses them.
#pragma once

#include <algorithm>
#include <stdexcept>

#include "validation/unit/simt/kernels/attention_backward_cases.h"
#include "validation/unit/simt/kernels/attention_cases.h"
#include "validation/unit/simt/kernels/cross_entropy_cases.h"
#include "validation/unit/simt/kernels/embedding_cases.h"
#include "validation/unit/simt/kernels/gemm_cases.h"
#include "validation/unit/simt/kernels/layer_norm_cases.h"
#include "validation/unit/simt/kernels/optimizer_cases.h"
#include "validation/unit/simt/kernels/pipeline_sm90_cases.h"
#include "validation/unit/simt/kernels/residual_cases.h"

namespace trireme::simt {

/// With buffer `chosen` of those that `check` makes shifted: whether the numbers are right, or std::invalid_argument says why
/// there are none. made: how many buffers there were.
inline bool shifted_is_right(bool (*check)(), int chosen, int& made) {
  struct Restored {
    ~Restored() { shift() = {}; }
  } restored;
  shift() = {chosen, 0};
  bool right = true;
  try {
    right = check();
  } catch (const std::invalid_argument&) {
  }
  made = std::max(made, shift().made);
  return right;
}

/// Each buffer of the check in its turn
inline bool every_operand_shifted(bool (*check)()) {
  int made = 0;
  bool right = shifted_is_right(check, -1, made);
  for (int chosen = 0; right && chosen < made; ++chosen) right = shifted_is_right(check, chosen, made);
  return right;
}

// Shapes whose rows are whole pieces of 16 bytes, so that only the operands' places decide how they are read.
namespace operands {

constexpr kernels::VocabularyRange range{20, 11, 16};

inline bool layer_norm() {
  return forward_is_right<bf16>(2, 64) && residual_is_right<float>({2, 1, 1}, 32, 0.2f) && backward_is_right<bf16>(3, 64, true) &&
         backward_is_right<bf16>(1, 20488, false);
}
inline bool residual() {
  return bias_residual_is_right<bf16>({3, 2, 1}, 32, {0.2f, 1, 0}) && dropout_is_right<float>({3, 2, 1}, 32, {0.2f, 1, 0}) &&
         bias_residual_backward_is_right<fp16>({5, 2, 0}, 32, {0.2f, 1, 0}, false);
}
inline bool linear() {
  return linear_is_right<bf16>({5, 520, 16}, true) && linear_gelu_is_right<fp16>({8, 32, 16}) &&
         linear_residual_is_right<float>({4, 2, 2}, 16, 16, 0.3f, false);
}
inline bool linear_gradients() {
  return input_gradient_is_right<bf16>({8, 16, 32}, true) && weight_gradient_is_right<bf16>({32, 16, 16}, true) &&
         input_gradient_is_right<float>({8, 16, 520}, false) && weight_gradient_is_right<float>({520, 16, 16}, true);
}
inline bool attention() {
  return attention_is_right<bf16>({{3, 1, 0}, 1, 64, 0}, 0.1f) && attention_is_right<float>({{3, 1, 0}, 1, 16, 0}, 0.1f);
}
inline bool attention_backward() {
  return attention_backward_is_right<bf16>({{3, 1, 0}, 1, 64, 0}, 0.1f) &&
         attention_backward_is_right<float>({{3, 1, 0}, 1, 16, 0}, 0.1f);
}
inline bool cross_entropy() {
  const Slices slices{{0, 61, 64}};
  return losses_are_right<bf16>(slices, random_logits<bf16>(slices, 2), {7, 60}) &&
         losses_are_right<float>(slices, random_logits<float>(slices, 2), {7, 60});
}
inline bool embedding() {
  return embedded_is_right<bf16>({3, 2, 0}, 32, range, true, {0.2f, 5, 0}) &&
         embedding_backward_is_right<bf16>({3, 2, 0}, 32, range, tokens_around(range, 6), true);
}
inline bool optimizer() { return adamw_is_right<bf16>(37, 0) && clip_is_right() && sums_are_right(37, 0); }
inline bool pipeline() { return pipelined_is_right({8, 64, 64}, 1); }

}  // namespace operands
}  // namespace trireme::simt
