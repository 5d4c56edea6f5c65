// Dropout masks, as kernels.h defines them, in pieces of a row that stay in the first-level cache.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/ranges.h"
#include "kernels/kernels.h"

namespace trireme::kernels {

/// factors [4 groups] = 0 or 1 / (1 - rate) for the elements 4 first_group .. of `sample`
void dropout_factors(const Dropout& dropout, std::uint64_t sample, std::uint64_t first_group, std::int64_t groups,
                     float* factors);

/// Calls work(column, n, factors [n]) for pieces of the first `count` columns of a row of `columns`; one call with null factors
/// when nothing is dropped. `sample` counts within the microbatch.
template <class Work>
void with_dropout(const Dropout& dropout, std::int64_t sample, std::int64_t row, std::int64_t columns, std::int64_t count,
                  const Work& work) {
  constexpr std::int64_t piece = 512;
  if (dropout.rate == 0) return work(std::int64_t{0}, count, static_cast<const float*>(nullptr));
  alignas(64) float factors[piece];
  const std::int64_t first_group = row * ((columns + 3) / 4);
  for (std::int64_t column = 0; column < count; column += piece) {
    const std::int64_t n = std::min(piece, count - column);
    dropout_factors(dropout, dropout.first_sample + static_cast<std::uint64_t>(sample),
                    static_cast<std::uint64_t>(first_group + column / 4), (n + 3) / 4, factors);
    work(column, n, static_cast<const float*>(factors));
  }
}

/// y = residual + dropout(x + bias) on row `row` of an activation; all pointers are at that row, y may be x or residual.
inline void bias_residual_row(const Rows& rows, std::int64_t row, std::int64_t hidden, const float* x, const float* bias,
                              const Dropout& dropout, const float* residual, float* y) {
  with_dropout(dropout, row % rows.batch, rows.first + row / rows.batch, hidden, hidden,
               [&](std::int64_t column, std::int64_t n, const float* factors) {
                 add_bias_residual(n, x + column, bias + column, factors, residual + column, y + column);
               });
}

}  // namespace trireme::kernels
