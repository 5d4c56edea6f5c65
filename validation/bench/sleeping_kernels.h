// Kernels that only sleep, so that two cores can stand for as many as there are ranks: every layer takes F = 30 ms forward and
// 2 F backward.
#pragma once

#include <chrono>
#include <thread>

#include "kernels/kernels.h"

namespace trireme::bench {

using namespace trireme::kernels;

inline constexpr double forward_seconds = 0.030, backward_seconds = 0.060;  // of one layer

inline void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// Computes nothing; attention takes the time of its layer.
class SleepingKernels : public Kernels {
 public:
  void linear(LinearShape, View, View, View, View) override {}
  void linear_gelu(LinearShape, View, View, View, View, View) override {}
  void linear_residual(LinearShape, Rows, View, View, View, Dropout, View, View) override {}
  void linear_input_gradient(LinearShape, View, View, View) override {}
  void linear_input_gradient_gelu(LinearShape, View, View, View, View) override {}
  void linear_weight_gradient(LinearShape, View, View, View, View) override {}
  void bias_residual(Rows, std::int64_t, View, View, Dropout, View, View) override {}
  void bias_residual_backward(Rows, std::int64_t, View, Dropout, View, View) override {}
  void layer_norm(std::int64_t, std::int64_t, View, View, View, View, View, View) override {}
  void residual_layer_norm(Rows, std::int64_t, View, View, Dropout, View, View, View, View, View, View, View) override {}
  void layer_norm_backward(std::int64_t, std::int64_t, View, View, View, View, View, View, View, View, View) override {}
  void attention(AttentionShape, View, Dropout, View, View) override { sleep(forward_seconds); }
  void attention_backward(AttentionShape, View, View, View, View, Dropout, View) override { sleep(backward_seconds); }
  void embedding(Rows, std::int64_t, View, View, VocabularyRange, View, Dropout, View) override {}
  void dropout(Rows, std::int64_t, View, Dropout, View) override {}
  void embedding_backward(Rows, std::int64_t, View, View, VocabularyRange, View, View) override {}
  void cross_entropy_maximum(std::int64_t, View, VocabularyRange, View) override {}
  void cross_entropy_sums(std::int64_t, View, VocabularyRange, View, View, View, View) override {}
  void cross_entropy_gradient(std::int64_t, View, VocabularyRange, View, View, View, float, View) override {}
  void clip(double, View, View) override {}
  void adamw(AdamW, View, View, View, View, View, View) override {}
  void cast(View, View) override {}
  void add(View, View) override {}
  void squared_norm(View, View) override {}
  void sum(View, View) override {}
  std::int64_t non_finite_count(View) override { return 0; }
};

}  // namespace trireme::bench
