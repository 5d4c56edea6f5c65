// Attention's forward pass on a GPU against plain loops in double, as a check that says whether all was right.
#pragma once

#include <algorithm>

#include "kernels/cuda/attention/attention.h"
#include "validation/unit/kernels/reference_kernels.h"
#include "validation/unit/simt/tensors.h"

namespace trireme::simt {

using kernels::AttentionShape;
using kernels::Dropout;

inline std::int64_t out_count(const AttentionShape& shape) { return shape.rows.count() * shape.heads * shape.head_size; }

/// Place of element c of a part (0: query, 1: key, 2: value) of the first head of the first sample
inline std::size_t qkv_place(const AttentionShape& shape, std::int64_t position, int part, std::int64_t c) {
  return static_cast<std::size_t>((position * shape.rows.batch * 3 + part) * shape.heads * shape.head_size + c);
}

/// |out - exact| may be, with w the sum of probability times |value|, which dropout scales: one rounding of the result; one of
/// each probability, so of w; and in fp32 those of sums of s terms, of w, and of the scores' sums (which walk at random), as
/// large as the longest query times the longest key, and of the exponential. exact_scores: their sums have one term that is not
/// 0.
template <class T>
bool attention_is_right(const AttentionShape& shape, const Dropout& dropout, const Reals& values, bool exact_scores = false) {
  const std::int64_t vectors = shape.rows.count() * shape.heads, size = shape.head_size;
  Tensor<T> qkv(values), out(vectors * size);
  Tensor<float> log_sum(vectors);
  kernels::cuda::attention(shape, qkv, dropout, out, log_sum, null_stream);

  Reals absolute = values;
  double longest[3] = {0, 0, 0};
  for (std::int64_t vector = 0; vector < 3 * vectors; ++vector) {
    double squares = 0;
    const auto part = static_cast<std::size_t>(vector / shape.heads % 3);
    for (std::int64_t i = vector * size; i < (vector + 1) * size; ++i) {
      double& value = absolute[static_cast<std::size_t>(i)];
      squares += value * value;
      if (part == 2) value = std::abs(value);
    }
    longest[part] = std::max(longest[part], std::sqrt(squares));
  }
  const auto expected = kernels::reference::attention(shape, values, dropout);
  const Reals weight = kernels::reference::attention(shape, absolute, dropout).out;
  const double largest = longest[0] * longest[1] / std::sqrt(static_cast<double>(size));
  const double terms = 16 + 2 * static_cast<double>(shape.rows.sequence);
  const double errors = 0x1p-24 * (terms + (exact_scores ? 0 : 4 * largest * std::sqrt(static_cast<double>(size))));
  const auto within = [&](const Reals& actual, const Reals& exact, const char* what, const auto& allowed) {
    for (std::size_t i = 0; i < exact.size(); ++i) {
      if (std::abs(actual[i] - exact[i]) <= allowed(i)) continue;
      ADD_FAILURE() << what << '[' << i << "] is " << actual[i] << ", expected " << exact[i] << " +- " << allowed(i);
      return false;
    }
    return true;
  };
  return within(out.reals(), expected.out, "out",
                [&](auto i) { return rounding<T> * (std::abs(expected.out[i]) + weight[i]) + errors * weight[i] + 0x1p-25; }) &&
         within(log_sum.reals(), expected.log_sum, "log_sum",
                [&](auto i) { return errors + 0x1p-22 * std::abs(expected.log_sum[i]); });
}

template <class T>
bool attention_is_right(const AttentionShape& shape, float rate) {
  return attention_is_right<T>(shape, {rate, 0x123456789abcdefull, 40}, Tensor<T>::random(1, 3 * out_count(shape)));
}

}  // namespace trireme::simt
