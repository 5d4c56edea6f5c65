// The CPU form of Kernels, one class over the files of this folder.
#pragma once

#include <stdexcept>

#include <fmt/format.h>

#include "kernels/kernels.h"

namespace trireme::kernels {

/// The elements of a view that must hold `count` of them at least.
inline float* floats(const View& v, std::int64_t count) {
  if (v.count < count) throw std::logic_error(fmt::format("a view of {} elements where {} are needed", v.count, count));
  return v.fp32();
}
inline const std::int32_t* indices(const View& v, std::int64_t count) {
  if (v.count < count) throw std::logic_error(fmt::format("a view of {} indices where {} are needed", v.count, count));
  return v.int32();
}

inline double* cells(const View& v, std::int64_t count) {
  if (v.count < count) throw std::logic_error(fmt::format("a view of {} cells where {} are needed", v.count, count));
  return v.fp64();
}

constexpr std::int64_t query_tile = 64;  // queries that attention works on at once
/// Length of a row of scores for n keys: rows are worked on without a remainder, which costs more than a vector.
constexpr std::int64_t whole_vectors(std::int64_t n) { return (n + 31) / 32 * 32; }

/// A matrix in memory whose rows are `stride` elements apart.
struct Matrix {
  const float* data;
  std::int64_t stride;
};
struct Result {
  float* data;
  std::int64_t stride;
};
/// c [m, n] = alpha op(a) op(b) + beta c
struct Product {
  bool transpose_a, transpose_b;
  std::int64_t m, n, k;
};
void multiply(Product product, float alpha, Matrix a, Matrix b, float beta, Result c);

class CpuKernels final : public Kernels {
 public:
  explicit CpuKernels(CpuLimits limits);

  void linear(LinearShape shape, View x, View weight, View bias, View y) override;
  void linear_gelu(LinearShape shape, View x, View weight, View bias, View pre, View y) override;
  void linear_residual(const LinearResidual& op) override;
  void linear_input_gradient(LinearShape shape, View dy, View weight, View dx) override;
  void linear_input_gradient_gelu(LinearShape shape, View dy, View weight, View pre, View dpre) override;
  void linear_weight_gradient(LinearShape shape, View dy, View x, View dweight, View dbias) override;

  void bias_residual(const BiasResidual& op) override;
  void bias_residual_backward(Rows rows, std::int64_t hidden, View dy, Dropout dropout, View dx, View dbias) override;

  void layer_norm(const LayerNorm& op) override;
  void residual_layer_norm(const ResidualLayerNorm& op) override;
  void layer_norm_backward(const LayerNormBackward& op) override;

  void attention(AttentionShape shape, View qkv, Dropout dropout, View out, View log_sum) override;
  void attention_backward(const AttentionBackward& op) override;

  void embedding(const Embedding& op) override;
  void dropout(Rows rows, std::int64_t hidden, View x, Dropout dropout, View y) override;
  void embedding_backward(const EmbeddingBackward& op) override;

  void cross_entropy_maximum(std::int64_t rows, View logits, VocabularyRange range, View maximum) override;
  void cross_entropy_sums(const CrossEntropySums& op) override;
  void cross_entropy_gradient(const CrossEntropyGradient& op) override;

  void clip(double clip, View squares, View record) override;
  void adamw(AdamW step, View weight, View gradient, View first_moment, View second_moment, View copy) override;
  void cast(View to, View from) override;
  void add(View y, View x) override;
  void squared_norm(View x, View out) override;
  void sum(View x, View out) override;
  std::int64_t non_finite_count(View x) override;

 private:
  void column_sums(std::int64_t rows, std::int64_t columns, const float* x, float* sums) const;
  double sum_of_parts(View x, double (*part)(std::int64_t, const float*));
  void check(AttentionShape shape) const;
  float* attention_scratch(std::int64_t sequence) const;

  CpuLimits limits_;
  std::unique_ptr<Device> device_;
  Arena arena_;
  View attention_, product_, partial_;  // scratch: of attention [threads, ...], of one product, of a reduction
};

}  // namespace trireme::kernels
