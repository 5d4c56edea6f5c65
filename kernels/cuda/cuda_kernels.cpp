#include "kernels/cuda/cuda_kernels.h"

#include <algorithm>
#include <stdexcept>

#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/attention/attention_backward.h"
#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/optimizer/optimizer.h"
#include "kernels/cuda/rows/layer_norm.h"
#include "kernels/cuda/rows/residual.h"
#include "kernels/cuda/vocabulary/cross_entropy.h"
#include "kernels/cuda/vocabulary/embedding.h"

namespace trireme::kernels::cuda {
namespace {

class CudaKernels final : public Kernels {
 public:
  CudaKernels(Device& device, const Target& target, View scratch) : device_(device), target_(target), scratch_(scratch) {}

  void linear(LinearShape shape, View x, View weight, View bias, View y) override {
    cuda::linear(shape, x, weight, bias, y, floats(gemm_scratch(Gemm::forward, shape)), target_);
  }
  void linear_gelu(LinearShape shape, View x, View weight, View bias, View pre, View y) override {
    cuda::linear_gelu({shape, x, weight, bias, pre, y}, floats(gemm_scratch(Gemm::forward, shape)), target_);
  }
  void linear_residual(const LinearResidual& op) override {
    cuda::linear_residual(op, floats(gemm_scratch(Gemm::forward, op.shape)), target_);
  }
  void linear_input_gradient(LinearShape shape, View dy, View weight, View dx) override {
    cuda::linear_input_gradient(shape, dy, weight, dx, floats(gemm_scratch(Gemm::input_gradient, shape)), target_);
  }
  void linear_input_gradient_gelu(LinearShape shape, View dy, View weight, View pre, View dpre) override {
    const View scratch = floats(gemm_scratch(Gemm::input_gradient, shape));
    cuda::linear_input_gradient_gelu(shape, dy, weight, pre, dpre, scratch, target_);
  }
  void linear_weight_gradient(LinearShape shape, View dy, View x, View dweight, View dbias) override {
    const View scratch = floats(gemm_scratch(Gemm::weight_gradient, shape));
    cuda::linear_weight_gradient(shape, dy, x, dweight, dbias, scratch, target_);
  }

  void bias_residual(const BiasResidual& op) override { cuda::bias_residual(op, target_); }
  void bias_residual_backward(Rows rows, std::int64_t hidden, View dy, Dropout dropout, View dx, View dbias) override {
    const View scratch = floats(bias_residual_scratch(rows, hidden));
    cuda::bias_residual_backward({rows, hidden, dy, dropout, dx, dbias}, scratch, target_);
  }

  void layer_norm(const LayerNorm& op) override { cuda::layer_norm(op, target_); }
  void residual_layer_norm(const ResidualLayerNorm& op) override { cuda::residual_layer_norm(op, target_); }
  void layer_norm_backward(const LayerNormBackward& op) override {
    cuda::layer_norm_backward(op, floats(layer_norm_scratch(op.rows, op.hidden)), target_);
  }

  void attention(AttentionShape shape, View qkv, Dropout dropout, View out, View log_sum) override {
    cuda::attention(shape, qkv, dropout, out, log_sum, target_);
  }
  void attention_backward(const AttentionBackward& op) override {
    cuda::attention_backward(op, floats(attention_backward_scratch(op.shape)), target_);
  }

  void embedding(const Embedding& op) override { cuda::embedding(op, target_); }
  void dropout(Rows rows, std::int64_t hidden, View x, Dropout dropout, View y) override {
    cuda::dropout(rows, hidden, x, dropout, y, target_);
  }
  void embedding_backward(const EmbeddingBackward& op) override {
    cuda::embedding_backward(op, take(DType::int32, embedding_scratch(op.rows)), target_);
  }

  void cross_entropy_maximum(std::int64_t rows, View logits, VocabularyRange range, View maximum) override {
    cuda::cross_entropy_maximum(rows, logits, range, maximum, target_);
  }
  void cross_entropy_sums(const CrossEntropySums& op) override { cuda::cross_entropy_sums(op, target_); }
  void cross_entropy_gradient(const CrossEntropyGradient& op) override { cuda::cross_entropy_gradient(op, target_); }

  void clip(double clip, double loss_scale, View squares, View record) override {
    cuda::clip(clip, loss_scale, squares, record, target_);
  }
  void adamw(AdamW step, View weight, View gradient, View first_moment, View second_moment, View copy) override {
    cuda::adamw(step, weight, gradient, first_moment, second_moment, copy, target_);
  }
  void cast(View to, View from) override { cuda::cast(to, from, target_); }
  void add(View y, View x) override { cuda::add(y, x, target_); }
  void squared_norm(View x, View out) override { cuda::squared_norm(x, out, take(DType::fp64, sum_scratch(x.count)), target_); }
  void sum(View x, View out) override { cuda::sum(x, out, take(DType::fp64, sum_scratch(x.count)), target_); }
  std::int64_t non_finite_count(View x) override {
    const View memory = take(DType::fp64, 1 + sum_scratch(x.count)), result = memory.slice(0, 1);
    cuda::non_finite_count(x, result, memory.slice(1, memory.count - 1), target_);
    double count = 0;
    device_.download(&count, result);
    return static_cast<std::int64_t>(count);
  }

 private:
  View take(DType type, std::int64_t count) const {
    if (count * bytes_of(type) > scratch_.bytes())
      throw std::logic_error("scratch of " + std::to_string(scratch_.bytes()) + " bytes where " +
                             std::to_string(count * bytes_of(type)) + " are needed");
    return {scratch_.data, count, type};
  }
  View floats(std::int64_t count) const { return count > 0 ? take(DType::fp32, count) : View{}; }

  Device& device_;
  Target target_;
  View scratch_;
};

}  // namespace

std::int64_t scratch_bytes(const CudaLimits& limits) {
  const Rows rows = limits.rows;
  std::int64_t floats = std::max({bias_residual_scratch(rows, limits.hidden), layer_norm_scratch(rows.count(), limits.hidden),
                                  attention_backward_scratch(limits.attention), embedding_scratch(rows)});
  for (const LinearShape& shape : limits.products)
    for (const Gemm product : {Gemm::forward, Gemm::input_gradient, Gemm::weight_gradient})
      floats = std::max(floats, gemm_scratch(product, shape));
  return std::max(4 * floats, 8 * (1 + sum_scratch(limits.reduced)));
}

std::unique_ptr<Kernels> make_cuda_kernels(Device& device, const Target& target, View scratch) {
  return std::make_unique<CudaKernels>(device, target, scratch);
}

}  // namespace trireme::kernels::cuda
