// Kernels that only sleep, so that two cores can stand for as many as there are ranks: every layer takes F = 30 ms forward and
// 2 F backward.
#pragma once

#include <chrono>
#include <thread>

#include "kernels/kernels.h"

namespace trireme::bench {

using kernels::AdamW;
using kernels::AttentionShape;
using kernels::Dropout;
using kernels::LinearShape;
using kernels::Rows;
using kernels::View;
using kernels::VocabularyRange;

inline constexpr double forward_seconds = 0.030, backward_seconds = 0.060;  // of one layer

inline void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// Computes nothing; attention takes the time of its layer.
class SleepingKernels : public kernels::Kernels {
 public:
  void linear(LinearShape, View, View, View, View) override {}
  void linear_gelu(LinearShape, View, View, View, View, View) override {}
  void linear_residual(const LinearResidual&) override {}
  void linear_input_gradient(LinearShape, View, View, View) override {}
  void linear_input_gradient_gelu(LinearShape, View, View, View, View) override {}
  void linear_weight_gradient(LinearShape, View, View, View, View) override {}
  void bias_residual(const BiasResidual&) override {}
  void bias_residual_backward(Rows, std::int64_t, View, Dropout, View, View) override {}
  void layer_norm(const LayerNorm&) override {}
  void residual_layer_norm(const ResidualLayerNorm&) override {}
  void layer_norm_backward(const LayerNormBackward&) override {}
  void attention(AttentionShape, View, Dropout, View, View) override { sleep(forward_seconds); }
  void attention_backward(const AttentionBackward&) override { sleep(backward_seconds); }
  void embedding(const Embedding&) override {}
  void dropout(Rows, std::int64_t, View, Dropout, View) override {}
  void embedding_backward(const EmbeddingBackward&) override {}
  void cross_entropy_maximum(std::int64_t, View, VocabularyRange, View) override {}
  void cross_entropy_sums(const CrossEntropySums&) override {}
  void cross_entropy_gradient(const CrossEntropyGradient&) override {}
  void clip(double, double, View, View) override {}
  void adamw(AdamW, View, View, View, View, View) override {}
  void cast(View, View) override {}
  void add(View, View) override {}
  void squared_norm(View, View) override {}
  void sum(View, View) override {}
  std::int64_t non_finite_count(View) override { return 0; }
};

}  // namespace trireme::bench
