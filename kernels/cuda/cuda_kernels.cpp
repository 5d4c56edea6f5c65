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
  CudaKernels(Device& device, Stream stream, View scratch) : device_(device), stream_(stream), scratch_(scratch) {}

  void linear(LinearShape shape, View x, View weight, View bias, View y) override {
    cuda::linear(shape, x, weight, bias, y, floats(gemm_scratch(Gemm::forward, shape)), stream_);
  }
  void linear_gelu(LinearShape shape, View x, View weight, View bias, View pre, View y) override {
    cuda::linear_gelu(shape, x, weight, bias, pre, y, floats(gemm_scratch(Gemm::forward, shape)), stream_);
  }
  void linear_residual(LinearShape shape, Rows rows, View x, View weight, View bias, Dropout dropout, View residual,
                       View y) override {
    const View scratch = floats(gemm_scratch(Gemm::forward, shape));
    cuda::linear_residual(shape, rows, x, weight, bias, dropout, residual, y, scratch, stream_);
  }
  void linear_input_gradient(LinearShape shape, View dy, View weight, View dx) override {
    cuda::linear_input_gradient(shape, dy, weight, dx, floats(gemm_scratch(Gemm::input_gradient, shape)), stream_);
  }
  void linear_input_gradient_gelu(LinearShape shape, View dy, View weight, View pre, View dpre) override {
    const View scratch = floats(gemm_scratch(Gemm::input_gradient, shape));
    cuda::linear_input_gradient_gelu(shape, dy, weight, pre, dpre, scratch, stream_);
  }
  void linear_weight_gradient(LinearShape shape, View dy, View x, View dweight, View dbias) override {
    const View scratch = floats(gemm_scratch(Gemm::weight_gradient, shape));
    cuda::linear_weight_gradient(shape, dy, x, dweight, dbias, scratch, stream_);
  }

  void bias_residual(Rows rows, std::int64_t hidden, View x, View bias, Dropout dropout, View residual, View y) override {
    cuda::bias_residual(rows, hidden, x, bias, dropout, residual, y, stream_);
  }
  void bias_residual_backward(Rows rows, std::int64_t hidden, View dy, Dropout dropout, View dx, View dbias) override {
    cuda::bias_residual_backward(rows, hidden, dy, dropout, dx, dbias, floats(bias_residual_scratch(rows, hidden)), stream_);
  }

  void layer_norm(std::int64_t rows, std::int64_t hidden, View x, View gain, View bias, View y, View mean, View rstd) override {
    cuda::layer_norm(rows, hidden, x, gain, bias, y, mean, rstd, stream_);
  }
  void residual_layer_norm(Rows rows, std::int64_t hidden, View x, View linear_bias, Dropout dropout, View residual, View sum,
                           View gain, View bias, View y, View mean, View rstd) override {
    cuda::residual_layer_norm(rows, hidden, x, linear_bias, dropout, residual, sum, gain, bias, y, mean, rstd, stream_);
  }
  void layer_norm_backward(std::int64_t rows, std::int64_t hidden, View dy, View x, View gain, View mean, View rstd,
                           View dresidual, View dx, View dgain, View dbias) override {
    const View scratch = floats(layer_norm_scratch(rows, hidden));
    cuda::layer_norm_backward(rows, hidden, dy, x, gain, mean, rstd, dresidual, dx, dgain, dbias, scratch, stream_);
  }

  void attention(AttentionShape shape, View qkv, Dropout dropout, View out, View log_sum) override {
    cuda::attention(shape, qkv, dropout, out, log_sum, stream_);
  }
  void attention_backward(AttentionShape shape, View dout, View qkv, View out, View log_sum, Dropout dropout,
                          View dqkv) override {
    const View scratch = floats(attention_backward_scratch(shape));
    cuda::attention_backward(shape, dout, qkv, out, log_sum, dropout, dqkv, scratch, stream_);
  }

  void embedding(Rows rows, std::int64_t hidden, View tokens, View table, VocabularyRange range, View positions, Dropout dropout,
                 View y) override {
    cuda::embedding(rows, hidden, tokens, table, range, positions, dropout, y, stream_);
  }
  void dropout(Rows rows, std::int64_t hidden, View x, Dropout dropout, View y) override {
    cuda::dropout(rows, hidden, x, dropout, y, stream_);
  }
  void embedding_backward(Rows rows, std::int64_t hidden, View tokens, View dy, VocabularyRange range, View dtable,
                          View dpositions) override {
    const View scratch = take(DType::int32, embedding_scratch(rows));
    cuda::embedding_backward(rows, hidden, tokens, dy, range, dtable, dpositions, scratch, stream_);
  }

  void cross_entropy_maximum(std::int64_t rows, View logits, VocabularyRange range, View maximum) override {
    cuda::cross_entropy_maximum(rows, logits, range, maximum, stream_);
  }
  void cross_entropy_sums(std::int64_t rows, View logits, VocabularyRange range, View targets, View maximum, View sums,
                          View target_logits) override {
    cuda::cross_entropy_sums(rows, logits, range, targets, maximum, sums, target_logits, stream_);
  }
  void cross_entropy_gradient(std::int64_t rows, View logits, VocabularyRange range, View targets, View sums, View target_logits,
                              float scale, View losses) override {
    cuda::cross_entropy_gradient(rows, logits, range, targets, sums, target_logits, scale, losses, stream_);
  }

  void clip(double clip, View squares, View record) override { cuda::clip(clip, squares, record, stream_); }
  void adamw(AdamW step, View record, View weight, View gradient, View first_moment, View second_moment, View copy) override {
    cuda::adamw(step, record, weight, gradient, first_moment, second_moment, copy, stream_);
  }
  void cast(View to, View from) override { cuda::cast(to, from, stream_); }
  void add(View y, View x) override { cuda::add(y, x, stream_); }
  void squared_norm(View x, View out) override { cuda::squared_norm(x, out, take(DType::fp64, sum_scratch(x.count)), stream_); }
  void sum(View x, View out) override { cuda::sum(x, out, take(DType::fp64, sum_scratch(x.count)), stream_); }
  std::int64_t non_finite_count(View x) override {
    const View memory = take(DType::fp64, 1 + sum_scratch(x.count)), result = memory.slice(0, 1);
    cuda::non_finite_count(x, result, memory.slice(1, memory.count - 1), stream_);
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
  Stream stream_;
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

std::unique_ptr<Kernels> make_cuda_kernels(Device& device, Stream stream, View scratch) {
  return std::make_unique<CudaKernels>(device, stream, scratch);
}

}  // namespace trireme::kernels::cuda
