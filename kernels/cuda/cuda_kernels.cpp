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
    cuda::linear_gelu(shape, x, weight, bias, pre, y, floats(gemm_scratch(Gemm::forward, shape)), target_);
  }
  void linear_residual(LinearShape shape, Rows rows, View x, View weight, View bias, Dropout dropout, View residual,
                       View y) override {
    const View scratch = floats(gemm_scratch(Gemm::forward, shape));
    cuda::linear_residual(shape, rows, x, weight, bias, dropout, residual, y, scratch, target_);
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

  void bias_residual(Rows rows, std::int64_t hidden, View x, View bias, Dropout dropout, View residual, View y) override {
    cuda::bias_residual(rows, hidden, x, bias, dropout, residual, y, target_);
  }
  void bias_residual_backward(Rows rows, std::int64_t hidden, View dy, Dropout dropout, View dx, View dbias) override {
    cuda::bias_residual_backward(rows, hidden, dy, dropout, dx, dbias, floats(bias_residual_scratch(rows, hidden)), target_);
  }

  void layer_norm(std::int64_t rows, std::int64_t hidden, View x, View gain, View bias, View y, View mean, View rstd) override {
    cuda::layer_norm(rows, hidden, x, gain, bias, y, mean, rstd, target_);
  }
  void residual_layer_norm(Rows rows, std::int64_t hidden, View x, View linear_bias, Dropout dropout, View residual, View sum,
                           View gain, View bias, View y, View mean, View rstd) override {
    cuda::residual_layer_norm(rows, hidden, x, linear_bias, dropout, residual, sum, gain, bias, y, mean, rstd, target_);
  }
  void layer_norm_backward(std::int64_t rows, std::int64_t hidden, View dy, View x, View gain, View mean, View rstd,
                           View dresidual, View dx, View dgain, View dbias) override {
    const View scratch = floats(layer_norm_scratch(rows, hidden));
    cuda::layer_norm_backward(rows, hidden, dy, x, gain, mean, rstd, dresidual, dx, dgain, dbias, scratch, target_);
  }

  void attention(AttentionShape shape, View qkv, Dropout dropout, View out, View log_sum) override {
    cuda::attention(shape, qkv, dropout, out, log_sum, target_);
  }
  void attention_backward(AttentionShape shape, View dout, View qkv, View out, View log_sum, Dropout dropout,
                          View dqkv) override {
    const View scratch = floats(attention_backward_scratch(shape));
    cuda::attention_backward(shape, dout, qkv, out, log_sum, dropout, dqkv, scratch, target_);
  }

  void embedding(Rows rows, std::int64_t hidden, View tokens, View table, VocabularyRange range, View positions, Dropout dropout,
                 View y) override {
    cuda::embedding(rows, hidden, tokens, table, range, positions, dropout, y, target_);
  }
  void dropout(Rows rows, std::int64_t hidden, View x, Dropout dropout, View y) override {
    cuda::dropout(rows, hidden, x, dropout, y, target_);
  }
  void embedding_backward(Rows rows, std::int64_t hidden, View tokens, View dy, VocabularyRange range, View dtable,
                          View dpositions) override {
    const View scratch = take(DType::int32, embedding_scratch(rows));
    cuda::embedding_backward(rows, hidden, tokens, dy, range, dtable, dpositions, scratch, target_);
  }

  void cross_entropy_maximum(std::int64_t rows, View logits, VocabularyRange range, View maximum) override {
    cuda::cross_entropy_maximum(rows, logits, range, maximum, target_);
  }
  void cross_entropy_sums(std::int64_t rows, View logits, VocabularyRange range, View targets, View maximum, View sums,
                          View target_logits) override {
    cuda::cross_entropy_sums(rows, logits, range, targets, maximum, sums, target_logits, target_);
  }
  void cross_entropy_gradient(std::int64_t rows, View logits, VocabularyRange range, View targets, View sums, View target_logits,
                              float scale, View losses) override {
    cuda::cross_entropy_gradient(rows, logits, range, targets, sums, target_logits, scale, losses, target_);
  }

  void adamw(AdamW step, View weight, View gradient, View first_moment, View second_moment) override {
    cuda::adamw(step, weight, gradient, first_moment, second_moment, {}, target_);
  }
  void add(View y, View x) override { cuda::add(y, x, target_); }
  double squared_norm(View x) override { return reduce(cuda::squared_norm, x); }
  double sum(View x) override { return reduce(cuda::sum, x); }
  std::int64_t non_finite_count(View x) override { return static_cast<std::int64_t>(reduce(cuda::non_finite_count, x)); }

 private:
  View take(DType type, std::int64_t count) const {
    if (count * bytes_of(type) > scratch_.bytes())
      throw std::logic_error("scratch of " + std::to_string(scratch_.bytes()) + " bytes where " +
                             std::to_string(count * bytes_of(type)) + " are needed");
    return {scratch_.data, count, type};
  }
  View floats(std::int64_t count) const { return count > 0 ? take(DType::fp32, count) : View{}; }

  double reduce(void (*launch)(View, View, View, const Target&), View x) const {
    const View memory = take(DType::fp64, 1 + sum_scratch(x.count)), result = memory.slice(0, 1);
    launch(x, result, memory.slice(1, memory.count - 1), target_);
    double value = 0;
    device_.download(&value, result);
    return value;
  }

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
