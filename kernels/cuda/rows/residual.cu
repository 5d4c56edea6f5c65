// Elementwise over rows, one block a row; the bias gradient by tiles of columns in two stages.
#include "kernels/cuda/rows/columns.cuh"
#include "kernels/cuda/rows/fold.cuh"
#include "kernels/cuda/rows/residual.cuh"
#include "kernels/cuda/rows/residual.h"
#include "kernels/cuda/rows/row.cuh"

namespace trireme::kernels::cuda {
namespace {

template <class T, bool aligned>
TRIREME_KERNEL((row_threads), residual_rows, Residual<T> p, T* y) {
  T* row = y + static_cast<std::int64_t>(blockIdx.x) * p.hidden;
  for_pieces<T, 0>(p.hidden, [&](int i) {
    const int column = piece_column<T>(i);
    put<aligned>(row, column, p.hidden, add_residual<aligned>(p, blockIdx.x, column));
  });
}

/// dx: null: not written
template <class T, bool aligned>
TRIREME_KERNEL((column_threads), residual_gradient, const T* dy, RowMasks masks, std::int64_t rows, int hidden, T* dx,
               float* parts) {
  sum_columns<1, T>(rows, hidden, parts, [&](std::int64_t row, int column, auto& term) {
    constexpr int size = Piece<T>::size;
    Piece<T> d = fetch<aligned>(dy + row * hidden, column, hidden);
    float factors[size];
    row_factors(masks, static_cast<unsigned>(row), hidden, column, factors);
#pragma unroll
    for (int j = 0; j < size; ++j) {
      const float through = factors[j] * to_float(d.element[j]);
      term[0][j] += through;
      d.element[j] = from_float<T>(through);
    }
    if (dx != nullptr) put<aligned>(dx + row * hidden, column, hidden, d);
  });
}

template <class T>
void launch_rows(const Residual<T>& p, std::int64_t rows, T* y, const Target& target) {
  if (rows * p.hidden == 0) return;
  const bool aligned = p.hidden % Piece<T>::size == 0 && aligned16(p.x, p.bias, p.residual, y);
  with_flag(aligned, [&](auto whole) {
    const dim3 grid(grid_size(rows)), block(static_cast<unsigned>(threads_of_row<T>(p.hidden)));
    TRIREME_LAUNCH((residual_rows<T, decltype(whole)::value>), grid, block, 0, target.stream, p, y);
  });
}

}  // namespace

void bias_residual(const Kernels::BiasResidual& op, const Target& target) {
  const std::int64_t n = op.rows.count(), hidden = op.hidden;
  with_type(op.x.type, [&](auto zero) {
    using T = decltype(zero);
    const Residual<T> p{elements<T>(op.x, n * hidden), elements<T>(op.bias, hidden), elements<T>(op.residual, n * hidden),
                        narrow(hidden), masks_of(op.rows, op.dropout)};
    launch_rows(p, n, elements<T>(op.y, n * hidden), target);
  });
}

void dropout(Rows rows, std::int64_t hidden, View x, Dropout dropout, View y, const Target& target) {
  const std::int64_t n = rows.count();
  with_type(x.type, [&](auto zero) {
    using T = decltype(zero);
    const Residual<T> p{elements<T>(x, n * hidden), nullptr, nullptr, narrow(hidden), masks_of(rows, dropout)};
    T* to = elements<T>(y, n * hidden);
    if (dropout.rate > 0 || to != p.x) launch_rows(p, n, to, target);
  });
}

std::int64_t bias_residual_scratch(Rows rows, std::int64_t hidden) { return row_shares(rows.count()) * hidden; }

void bias_residual_backward(const BiasResidualBackward& op, View scratch, const Target& target) {
  const std::int64_t n = op.rows.count(), hidden = op.hidden, shares = row_shares(n);
  auto* parts = elements<float>(scratch, bias_residual_scratch(op.rows, hidden));
  auto* sums = elements<float>(op.dbias, hidden);
  with_type(op.dy.type, [&](auto zero) {
    using T = decltype(zero);
    const T* from = elements<T>(op.dy, n * hidden);
    T* to = elements<T>(op.dx, n * hidden);
    const bool aligned = hidden % Piece<T>::size == 0 && aligned16(from, to);
    with_flag(aligned, [&](auto whole) {
      const dim3 grid(blocks_of(hidden, column_lanes * Piece<T>::size), grid_size(shares));
      TRIREME_LAUNCH((residual_gradient<T, decltype(whole)::value>), grid, dim3(column_lanes, column_rows), 0, target.stream,
                     from, masks_of(op.rows, op.dropout), narrow(n), narrow(hidden),
                     op.dropout.rate == 0 && to == from ? nullptr : to, parts);
    });
  });
  launch_fold(parts, shares, hidden, sums, nullptr, target);
}

}  // namespace trireme::kernels::cuda
