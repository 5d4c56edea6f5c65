#include "validation/unit/simt/kernels/far_cases.h"
#include "validation/unit/simt/kernels/operands_cases.h"
#include "validation/unit/simt/mutations/mutations.h"

namespace trireme::simt::checks {

bool layer_norm() {
  const Reals constant = Tensor<float>(Reals(264, 12345.678)).reals();
  return forward_is_right<float>(2, 33) && forward_is_right<float>(1, 264, constant) && forward_is_right<bf16>(3, 1024) &&
         residual_is_right<bf16>({3, 2, 1}, 264, 0.2f) && backward_is_right<bf16>(50, 520, true) &&
         backward_is_right<bf16>(1, 20488, false);
}

bool residual() {
  const Dropout dropout{0.2f, 1, 0};
  return bias_residual_is_right<bf16>({3, 2, 1}, 72, dropout) && bias_residual_is_right<float>({2, 2, 1}, 33, dropout) &&
         bias_residual_backward_is_right<bf16>({65, 2, 0}, 24, dropout, true);
}

bool gemm() {
  return linear_gelu_is_right<bf16>({70, 200, 72}) && linear_is_right<fp16>({9, 35, 21}, true) &&
         linear_is_right<bf16>({5, 520, 12}, true) && linear_residual_is_right<bf16>({4, 3, 2}, 24, 36, 0.3f, true) &&
         input_gradient_is_right<bf16>({20, 24, 40}, true) && weight_gradient_is_right<bf16>({520, 136, 24}, true) &&
         weight_gradient_is_right<bf16>({40, 136, 24}, true) && linear_is_right<float>({9, 35, 21}, true) &&
         linear_is_right<bf16>({2100, 8, 8}, true) && far_slopes_are_right<float>();
}

bool attention() { return attention_is_right<bf16>({{150, 1, 0}, 1, 64, 1}, 0.1f); }
bool attention_fp32() { return attention_is_right<float>({{70, 1, 0}, 1, 8, 1}, 0.1f); }
bool attention_backward() {
  return attention_backward_is_right<bf16>({{70, 1, 0}, 1, 64, 1}, 0.2f) &&
         attention_backward_is_right<float>({{35, 1, 0}, 1, 9, 0}, 0);
}

bool cross_entropy() {
  const Slices slices{{0, 300, 304}, {300, 33, 40}};
  Reals logits = random_logits<bf16>(slices, 3, 1, -9);
  logits[299] = -2;  // the largest, in another warp than the first one
  return losses_are_right<bf16>(slices, logits, {0, 310, 302}) &&
         losses_are_right<float>({{0, 7, 9}}, random_logits<float>({{0, 7, 9}}, 2), {6, 0});
}

bool optimizer() {
  return adamw_is_right<bf16>(1030, 0) && adamw_is_right<fp16>(21, 1) && skipped_step_changes_nothing(21) && clip_is_right() &&
         sums_are_right(2051, 0);
}

bool embedding() {
  const kernels::VocabularyRange range{10, 5, 8};
  return embedded_is_right<bf16>({3, 4, 1}, 24, range, true, {}) &&
         embedding_backward_is_right<bf16>({40, 4, 0}, 24, range, tokens_around(range, 160), true);
}

// Two tiles a block, so that stages, parities and the result's memory are used again.
bool pipeline() { return pipelined_is_right({150, 136, 136}, 2); }

bool far_rows() {
  return far_losses_are_right<bf16>() && far_embedding_is_right<bf16>() && far_embedding_gradient_is_right<bf16>();
}

// 513 pieces of 16 bytes
bool long_rows() { return embedded_is_right<bf16>({1, 1, 0}, 4104, {0, 8, 8}, true, {}); }

bool moved_by_sums() {
  constexpr std::int64_t n = 4096;
  Tensor<float> y(Reals(n, 1)), x(Reals(n, 2));
  options().count = true;
  counters() = {};
  kernels::cuda::add(y, x, null_stream);
  options().count = false;
  const auto moved = static_cast<double>(counters().moved_read + counters().moved_written);
  return moved < 1.1 * kernels::cost::add(n).bytes && y.reals() == Reals(n, 3);
}

bool shifted_products() { return every_operand_shifted(operands::linear); }
bool shifted_vocabulary() { return every_operand_shifted(operands::cross_entropy) && every_operand_shifted(operands::embedding); }

}  // namespace trireme::simt::checks
