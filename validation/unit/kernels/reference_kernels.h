// The operations of kernels.h as plain loops in double, forward only: gradients are held against differences of these.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/philox.h"
#include "kernels/kernels.h"

namespace trireme::kernels::reference {

using Reals = std::vector<double>;

inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// y [n, out] = x [n, in] W^T + bias [out] (empty: none)
inline Reals linear(const LinearShape& shape, const Reals& x, const Reals& weight, const Reals& bias) {
  Reals y(at(shape.rows * shape.out));
  for (std::int64_t i = 0; i < shape.rows; ++i)
    for (std::int64_t o = 0; o < shape.out; ++o) {
      double sum = bias.empty() ? 0 : bias[at(o)];
      for (std::int64_t k = 0; k < shape.in; ++k) sum += x[at(i * shape.in + k)] * weight[at(o * shape.in + k)];
      y[at(i * shape.out + o)] = sum;
    }
  return y;
}

inline Reals gelu(Reals x) {
  constexpr double pi = 3.14159265358979323846;
  for (double& v : x) v = 0.5 * v * (1 + std::tanh(std::sqrt(2 / pi) * (v + 0.044715 * v * v * v)));
  return x;
}

/// What dropout multiplies element `column` of a row of `columns` by
inline double dropout_factor(const Dropout& dropout, std::int64_t sample, std::int64_t row, std::int64_t columns,
                             std::int64_t column) {
  if (dropout.rate == 0) return 1;
  const auto element = static_cast<std::uint64_t>(row * ((columns + 3) / 4 * 4) + column);
  const auto words = base::philox(dropout.key, dropout.first_sample + static_cast<std::uint64_t>(sample), element / 4);
  return words[element % 4] >= dropout.rate * 0x1p32 ? 1 / (1 - static_cast<double>(dropout.rate)) : 0;
}

inline Reals dropout(const Rows& rows, std::int64_t hidden, Reals x, const Dropout& dropout) {
  for (std::int64_t row = 0; row < rows.count(); ++row)
    for (std::int64_t c = 0; c < hidden; ++c)
      x[at(row * hidden + c)] *= dropout_factor(dropout, row % rows.batch, rows.first + row / rows.batch, hidden, c);
  return x;
}

inline Reals bias_residual(const Rows& rows, std::int64_t hidden, Reals x, const Reals& bias, const Dropout& mask,
                           const Reals& residual) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += bias[i % at(hidden)];
  x = dropout(rows, hidden, x, mask);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += residual[i];
  return x;
}

struct Normed {
  Reals y, mean, rstd;
};

inline Normed layer_norm(std::int64_t rows, std::int64_t hidden, const Reals& x, const Reals& gain, const Reals& bias) {
  Normed result{x, {}, {}};
  for (std::int64_t row = 0; row < rows; ++row) {
    double mean = 0, variance = 0;
    for (std::int64_t c = 0; c < hidden; ++c) mean += x[at(row * hidden + c)] / static_cast<double>(hidden);
    for (std::int64_t c = 0; c < hidden; ++c)
      variance += std::pow(x[at(row * hidden + c)] - mean, 2) / static_cast<double>(hidden);
    const double rstd = 1 / std::sqrt(variance + 1e-5);
    for (std::int64_t c = 0; c < hidden; ++c)
      result.y[at(row * hidden + c)] = (x[at(row * hidden + c)] - mean) * rstd * gain[at(c)] + bias[at(c)];
    result.mean.push_back(mean);
    result.rstd.push_back(rstd);
  }
  return result;
}

struct Attended {
  Reals out, log_sum;
};

inline Attended attention(const AttentionShape& shape, const Reals& qkv, const Dropout& dropout) {
  const auto [s, b, first] = shape.rows;
  const std::int64_t heads = shape.heads, d = shape.head_size;
  Attended result{Reals(at(s * b * heads * d)), Reals(at(b * heads * s))};
  const auto element = [&, batch = b](std::int64_t position, std::int64_t sample, std::int64_t part, std::int64_t head,
                                      std::int64_t c) {
    return qkv[at((((position * batch + sample) * 3 + part) * heads + head) * d + c)];
  };
  for (std::int64_t i = 0; i < b; ++i)
    for (std::int64_t head = 0; head < heads; ++head)
      for (std::int64_t q = 0; q < s; ++q) {
        Reals scores;
        for (std::int64_t k = 0; k <= q; ++k) {
          double score = 0;
          for (std::int64_t c = 0; c < d; ++c) score += element(q, i, 0, head, c) * element(k, i, 1, head, c);
          scores.push_back(score / std::sqrt(static_cast<double>(d)));
        }
        const double maximum = *std::max_element(scores.begin(), scores.end());
        double sum = 0;
        for (const double score : scores) sum += std::exp(score - maximum);
        result.log_sum[at((i * heads + head) * s + q)] = maximum + std::log(sum);
        for (std::int64_t k = 0; k <= q; ++k) {
          const double p =
              std::exp(scores[at(k)] - maximum) / sum * dropout_factor(dropout, i, (shape.first_head + head) * s + q, s, k);
          for (std::int64_t c = 0; c < d; ++c)
            result.out[at(((q * b + i) * heads + head) * d + c)] += p * element(k, i, 2, head, c);
        }
      }
  return result;
}

/// positions empty: none
inline Reals embedding(const Rows& rows, std::int64_t hidden, const std::vector<std::int32_t>& tokens, const Reals& table,
                       const VocabularyRange& range, const Reals& positions, const Dropout& mask) {
  Reals y(at(rows.count() * hidden));
  for (std::int64_t row = 0; row < rows.count(); ++row)
    for (std::int64_t c = 0; c < hidden; ++c) {
      const std::int64_t token = tokens[at(row)] - range.first;
      if (token >= 0 && token < range.valid) y[at(row * hidden + c)] += table[at(token * hidden + c)];
      if (!positions.empty()) y[at(row * hidden + c)] += positions[at(row / rows.batch * hidden + c)];
    }
  return dropout(rows, hidden, y, mask);
}

/// Losses of rows of logits [n, vocabulary]
inline Reals cross_entropy(std::int64_t vocabulary, const Reals& logits, const std::vector<std::int32_t>& targets) {
  Reals losses;
  for (std::size_t row = 0; row < targets.size(); ++row) {
    const auto first = logits.begin() + static_cast<std::int64_t>(row) * vocabulary;
    const double maximum = *std::max_element(first, first + vocabulary);
    double sum = 0;
    for (auto value = first; value != first + vocabulary; ++value) sum += std::exp(*value - maximum);
    losses.push_back(maximum + std::log(sum) - first[targets[row]]);
  }
  return losses;
}

}  // namespace trireme::kernels::reference
