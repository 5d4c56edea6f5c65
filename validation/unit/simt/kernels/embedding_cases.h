// The embedding on a GPU against plain loops in double, as checks that say whether all was right.
#pragma once

#include "kernels/cuda/vocabulary/embedding.h"
#include "validation/unit/kernels/reference_kernels.h"
#include "validation/unit/simt/tensors.h"

namespace trireme::simt {

namespace reference = kernels::reference;
using kernels::Dropout;
using kernels::Rows;
using kernels::VocabularyRange;
using Tokens = std::vector<std::int32_t>;

inline View view_of(DeviceBuffer<std::int32_t>& tokens) {
  return {tokens.data(), static_cast<std::int64_t>(tokens.size()), kernels::DType::int32};
}

/// n tokens from below the range to above it
inline Tokens tokens_around(const VocabularyRange& range, std::int64_t n) {
  Tokens tokens;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t word = base::philox(7, 0, static_cast<std::uint64_t>(i))[0];
    tokens.push_back(static_cast<std::int32_t>(range.first - 2 + static_cast<std::int64_t>(word) % (range.rows + 4)));
  }
  return tokens;
}

template <class T>
bool embedded_is_right(Rows rows, std::int64_t hidden, const VocabularyRange& range, bool with_positions, Dropout dropout) {
  const Tokens token_values = tokens_around(range, rows.count());
  const Reals table_values = Tensor<T>::random(1, range.rows * hidden);
  const Reals position_values = with_positions ? Tensor<T>::random(2, rows.sequence * hidden) : Reals{};
  DeviceBuffer<std::int32_t> tokens(token_values);
  Tensor<T> table(table_values), positions(position_values), y(rows.count() * hidden);
  kernels::cuda::embedding({.rows = rows,
                            .hidden = hidden,
                            .tokens = view_of(tokens),
                            .table = table,
                            .range = range,
                            .positions = with_positions ? View(positions) : View{},
                            .dropout = dropout,
                            .y = y},
                           null_stream);
  return close(y, reference::embedding(rows, hidden, token_values, table_values, range, position_values, dropout), 4, "y");
}

/// Sums of at most n terms of the size of dy
template <class T>
bool embedding_backward_is_right(Rows rows, std::int64_t hidden, const VocabularyRange& range, const Tokens& token_values,
                                 bool with_positions) {
  const std::int64_t n = rows.count();
  const Reals dy_values = Tensor<T>::random(1, n * hidden);
  Reals of_table = Tensor<float>::random(2, range.rows * hidden), of_positions = Tensor<float>::random(3, rows.sequence * hidden);
  DeviceBuffer<std::int32_t> tokens(token_values), scratch(static_cast<std::size_t>(kernels::cuda::embedding_scratch(rows)));
  Tensor<T> dy(dy_values);
  Tensor<float> dtable(of_table), dpositions(of_positions);
  kernels::cuda::embedding_backward({.rows = rows,
                                     .hidden = hidden,
                                     .tokens = view_of(tokens),
                                     .dy = dy,
                                     .range = range,
                                     .dtable = dtable,
                                     .dpositions = with_positions ? View(dpositions) : View{}},
                                    view_of(scratch), null_stream);
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t c = 0; c < hidden; ++c) {
      const double d = dy_values[static_cast<std::size_t>(row * hidden + c)];
      const std::int64_t index = token_values[static_cast<std::size_t>(row)] - range.first;
      if (index >= 0 && index < range.valid) of_table[static_cast<std::size_t>(index * hidden + c)] += d;
      if (with_positions) of_positions[static_cast<std::size_t>(row / rows.batch * hidden + c)] += d;
    }
  const double errors = 4 + static_cast<double>(n);
  return close(dtable, of_table, errors, "dtable") && close(dpositions, of_positions, errors, "dpositions");
}

}  // namespace trireme::simt
