// Attention's backward pass on a GPU against plain loops in double, as a check that says whether all was right.
#pragma once

#include "kernels/cuda/attention/attention_backward.h"
#include "validation/unit/kernels/reference_kernels.h"
#include "validation/unit/simt/tensors.h"

namespace trireme::simt {

namespace reference = kernels::reference;
using kernels::AttentionShape;
using kernels::Dropout;

/// Gradients, and for each the variance of what rounding P and dS to T, and sums in fp32, do to it.
struct AttentionGradients {
  Reals dqkv, variance;
};

/// The formulas of kernels/cuda/attention/attention_backward.cuh from out and log_sum as given, pair by pair. A probability is
/// the exponential of a score whose products are rounded to fp32, so that its relative error follows the score's magnitude.
template <class T>
AttentionGradients attention_gradients(const AttentionShape& shape, const Reals& qkv, const Reals& dout, const Reals& out,
                                       const Reals& log_sum, const Dropout& dropout) {
  const std::int64_t s = shape.rows.sequence, b = shape.rows.batch, heads = shape.heads, d = shape.head_size;
  const double scale = 1 / std::sqrt(static_cast<double>(d)), fp32 = 8 * 0x1p-24;
  const double least = std::is_same_v<T, fp16> ? 0x1p-25 : 0x1p-126;  // fp16 rounds to subnormal numbers, a GPU's fp32 to 0
  AttentionGradients result{Reals(qkv.size()), Reals(qkv.size())};
  const auto square = [](double x) { return x * x; };
  for (std::int64_t sample = 0; sample < b; ++sample)
    for (std::int64_t head = 0; head < heads; ++head)
      for (std::int64_t query = 0; query < s; ++query)
        for (std::int64_t key = 0; key <= query; ++key) {
          const auto part = [&](std::int64_t position, int which) {
            return static_cast<std::size_t>((((position * b + sample) * 3 + which) * heads + head) * d);
          };
          const std::size_t q = part(query, 0), k = part(key, 1), v = part(key, 2);
          const auto o = static_cast<std::size_t>(((query * b + sample) * heads + head) * d);
          double score = 0, dp = 0, delta = 0, score_size = 0, dp_size = 0;
          for (std::size_t c = 0; c < static_cast<std::size_t>(d); ++c) {
            score += scale * qkv[q + c] * qkv[k + c];
            dp += dout[o + c] * qkv[v + c];
            delta += dout[o + c] * out[o + c];
            score_size += scale * std::abs(qkv[q + c] * qkv[k + c]);
            dp_size += std::abs(dout[o + c] * qkv[v + c]) + std::abs(dout[o + c] * out[o + c]);
          }
          const double log_row = log_sum[static_cast<std::size_t>((sample * heads + head) * s + query)];
          const double f = reference::dropout_factor(dropout, sample, (shape.first_head + head) * s + query, s, key);
          const double p = std::exp(score - log_row), ds = p * (f * dp - delta);
          const double p_error = fp32 * (1 + score_size + std::abs(log_row)), kept = f * p;
          const double kept_variance = square(kept * (rounding<T> + p_error) + least);
          const double ds_variance = square(std::abs(ds) * (rounding<T> + p_error) + p * fp32 * (1 + f) * dp_size + least);
          for (std::size_t c = 0; c < static_cast<std::size_t>(d); ++c) {
            result.dqkv[q + c] += scale * ds * qkv[k + c];
            result.dqkv[k + c] += scale * ds * qkv[q + c];
            result.dqkv[v + c] += kept * dout[o + c];
            result.variance[q + c] += ds_variance * square(scale * qkv[k + c]);
            result.variance[k + c] += ds_variance * square(scale * qkv[q + c]);
            result.variance[v + c] += kept_variance * square(dout[o + c]);
          }
        }
  return result;
}

/// Inputs and results of one call; out and log_sum are the reference's, rounded as they are stored.
template <class T>
struct AttentionCase {
  AttentionShape shape;
  Dropout dropout;
  Reals qkv_values, dout_values;
  Tensor<T> out, dqkv;
  Tensor<float> log_sum;

  AttentionCase(AttentionShape s, float rate, const Reals& values)
      : AttentionCase(s, {rate, 0x123456789abcdefull, 40}, values,
                      reference::attention(s, values, {rate, 0x123456789abcdefull, 40})) {}
  void run() {
    Tensor<T> qkv(qkv_values), dout(dout_values);
    Tensor<float> scratch(kernels::cuda::attention_backward_scratch(shape));
    kernels::cuda::attention_backward(
        {.shape = shape, .dout = dout, .qkv = qkv, .out = out, .log_sum = log_sum, .dropout = dropout, .dqkv = dqkv}, scratch,
        null_stream);
  }

 private:
  AttentionCase(AttentionShape s, Dropout d, const Reals& values, const reference::Attended& forward)
      : shape(s),
        dropout(d),
        qkv_values(values),
        dout_values(Tensor<T>::random(2, static_cast<std::int64_t>(values.size() / 3))),
        out(forward.out),
        dqkv(static_cast<std::int64_t>(values.size())),
        log_sum(forward.log_sum) {}
};

inline std::int64_t qkv_elements(const AttentionShape& shape) { return shape.rows.count() * 3 * shape.heads * shape.head_size; }

/// Errors of many roundings add up as independent ones do: within five standard deviations, which no element of some 10^5
/// exceeds by chance, and a rounding of the result.
template <class T>
bool attention_backward_is_right(AttentionShape shape, float rate, const Reals& qkv) {
  AttentionCase<T> test(shape, rate, qkv);
  test.run();
  const auto expected =
      attention_gradients<T>(shape, qkv, test.dout_values, test.out.reals(), test.log_sum.reals(), test.dropout);
  const Reals values = test.dqkv.reals();
  const double least = std::is_same_v<T, fp16> ? 0x1p-25 : 0x1p-126;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double allowed = (rounding<T> + 0x1p-22) * std::abs(expected.dqkv[i]) + 5 * std::sqrt(expected.variance[i]) + least;
    if (std::abs(values[i] - expected.dqkv[i]) <= allowed) continue;
    ADD_FAILURE() << "dqkv[" << i << "] is " << values[i] << ", expected " << expected.dqkv[i] << " +- " << allowed;
    return false;
  }
  return true;
}

template <class T>
bool attention_backward_is_right(AttentionShape shape, float rate) {
  return attention_backward_is_right<T>(shape, rate, Tensor<T>::random(1, qkv_elements(shape)));
}

}  // namespace trireme::simt
