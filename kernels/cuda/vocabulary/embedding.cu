// The embedding, one block a row.
#include "kernels/cuda/rows/dropout.cuh"
#include "kernels/cuda/rows/row.cuh"
#include "kernels/cuda/views.h"
#include "kernels/cuda/vocabulary/embedding.h"

namespace trireme::kernels::cuda {
namespace {

template <class T>
struct TokenRows {
  const std::int32_t* tokens;
  const T *table, *positions;  // positions: null or [s, h]
  T* y;
  VocabularyRange range;
  int hidden;
  RowMasks masks;
};

template <class T, bool aligned>
TRIREME_KERNEL((row_threads), embed_rows, TokenRows<T> p) {
  const unsigned row = blockIdx.x;
  const std::int64_t index = ptx::load<std::int32_t>(p.tokens + row) - p.range.first;
  const bool here = index >= 0 && index < p.range.valid;
  const T* vector = here ? p.table + index * p.hidden : nullptr;
  const std::int64_t position = row / p.masks.batch;
  for_pieces<T, 0>(p.hidden, [&](int i) {
    constexpr int size = Piece<T>::size;
    const int column = piece_column<T>(i);
    float sum[size] = {}, factors[size];
    Piece<T> y;
    if (vector != nullptr) {
      const Piece<T> x = fetch<aligned>(vector, column, p.hidden);
#pragma unroll
      for (int j = 0; j < size; ++j) sum[j] = to_float(x.element[j]);
    }
    if (p.positions != nullptr) {
      const Piece<T> x = fetch<aligned>(p.positions + position * p.hidden, column, p.hidden);
#pragma unroll
      for (int j = 0; j < size; ++j) sum[j] += to_float(x.element[j]);
    }
    row_factors(p.masks, row, p.hidden, column, factors);
#pragma unroll
    for (int j = 0; j < size; ++j) y.element[j] = from_float<T>(factors[j] * sum[j]);
    put<aligned>(p.y + static_cast<std::int64_t>(row) * p.hidden, column, p.hidden, y);
  });
}

}  // namespace

void embedding(const Kernels::Embedding& op, const Target& target) {
  const std::int64_t n = op.rows.count(), hidden = op.hidden;
  if (n == 0) return;
  with_type(op.y.type, [&](auto zero) {
    using T = decltype(zero);
    const TokenRows<T> p{.tokens = elements<std::int32_t>(op.tokens, n),
                         .table = elements<T>(op.table, op.range.rows * hidden),
                         .positions = op.positions ? elements<T>(op.positions, op.rows.sequence * hidden) : nullptr,
                         .y = elements<T>(op.y, n * hidden),
                         .range = op.range,
                         .hidden = narrow(hidden),
                         .masks = masks_of(op.rows, op.dropout)};
    with_flag(hidden % Piece<T>::size == 0 && aligned16(p.table, p.positions, p.y), [&](auto aligned) {
      const dim3 grid(grid_size(n)), block(static_cast<unsigned>(threads_of_row<T>(hidden)));
      TRIREME_LAUNCH((embed_rows<T, decltype(aligned)::value>), grid, block, 0, target.stream, p);
    });
  });
}

}  // namespace trireme::kernels::cuda
