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

/// Where a piece of a row stands that a mask acts on.
struct MaskedRow {
  std::int64_t sample;     // within the microbatch
  std::int64_t row;        // its index, as Dropout counts rows
  std::int64_t columns;    // of the whole row
  std::int64_t first = 0;  // column of the piece, a multiple of 4
};
/// That of row `row` of an activation of h columns.
inline MaskedRow masked_row(const Rows& rows, std::int64_t row, std::int64_t hidden, std::int64_t first = 0) {
  return {row % rows.batch, rows.first + row / rows.batch, hidden, first};
}

/// Calls work(column, n, factors [n]) for parts of the `count` columns from `at` on, counted from there; one call with null
/// factors when nothing is dropped.
template <class Work>
void with_dropout(const Dropout& dropout, const MaskedRow& at, std::int64_t count, const Work& work) {
  constexpr std::int64_t part = 512;
  if (dropout.rate == 0) return work(std::int64_t{0}, count, static_cast<const float*>(nullptr));
  alignas(64) float factors[part];
  const std::int64_t first_group = at.row * ((at.columns + 3) / 4) + at.first / 4;
  for (std::int64_t column = 0; column < count; column += part) {
    const std::int64_t n = std::min(part, count - column);
    dropout_factors(dropout, dropout.first_sample + static_cast<std::uint64_t>(at.sample),
                    static_cast<std::uint64_t>(first_group + column / 4), (n + 3) / 4, factors);
    work(column, n, static_cast<const float*>(factors));
  }
}

/// What y = residual + dropout(x + bias) reads and writes of a piece of a row; y may be x or residual.
template <class X, class T>
struct BiasResidualRow {
  const X* x;
  const T *bias, *residual;
  T* y;
};
template <class X, class T>
void bias_residual_row(const Dropout& dropout, const MaskedRow& at, std::int64_t count, const BiasResidualRow<X, T>& row) {
  with_dropout(dropout, at, count, [&](std::int64_t column, std::int64_t n, const float* factors) {
    add_bias_residual(n, row.x + column, row.bias + column, factors, row.residual + column, row.y + column);
  });
}

}  // namespace trireme::kernels
