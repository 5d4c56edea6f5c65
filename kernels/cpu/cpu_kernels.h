// The CPU form of Kernels, one class over the files of this folder.
#pragma once

#include <stdexcept>

#include <fmt/format.h>

#include "kernels/cpu/gemm/product.h"
#include "kernels/kernels.h"

namespace trireme::kernels {

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

  void clip(double clip, double loss_scale, View squares, View record) override;
  void adamw(AdamW step, View weight, View gradient, View first_moment, View second_moment, View copy) override;
  void cast(View to, View from) override;
  void add(View y, View x) override;
  void squared_norm(View x, View out) override;
  void sum(View x, View out) override;
  std::int64_t non_finite_count(View x) override;

 private:
  template <class T>
  double sum_of_parts(const T* x, std::int64_t count, double (*part)(std::int64_t, const T*));
  ProductScratch scratch_of(DType type) const;
  void require_scratch(DType type) const;
  void check(AttentionShape shape, DType type) const;
  std::int64_t attention_scratch_elements() const;
  float* attention_scratch() const;

  CpuLimits limits_;
  std::unique_ptr<Device> device_;
  Arena arena_;
  // Scratch: of attention [threads, ...], of one product's tile and of its operands in fp32, of a reduction.
  View attention_, tile_, blocks_, partial_;
};

}  // namespace trireme::kernels
