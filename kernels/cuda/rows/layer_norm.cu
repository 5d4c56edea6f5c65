// Layer norm (Ba, Kiros and Hinton, 2016), one block a row, each row read once. Mean and variance by the corrected two-pass
// algorithm (Chan, Golub and LeVeque, 1983): rows far from zero, or of one value, lose nothing to the rounding of their mean.
#include <stdexcept>
#include <string>

#include "kernels/cuda/rows/layer_norm.h"
#include "kernels/cuda/rows/residual.cuh"
#include "kernels/cuda/rows/row.cuh"
#include "kernels/cuda/views.h"

namespace trireme::kernels::cuda {
namespace {

constexpr float epsilon = 1e-5f;

template <class T>
struct NormRows {
  Residual<T> in;  // bias, residual: only with a residual
  const T *gain, *bias;
  T *sum, *y;  // sum: only with a residual
  float *mean, *rstd;
  float inverse_hidden;  // of hidden
  int hidden;
};

template <class T, int pieces, bool aligned, bool with_residual>
TRIREME_KERNEL((row_threads), norm_rows, NormRows<T> p) {
  TRIREME_SHARED(float, parts, 3 * row_warps);
  constexpr int size = Piece<T>::size;
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * p.hidden;
  Row<T, pieces, aligned> row{(with_residual ? p.sum : p.in.x) + at, p.hidden, {}};
  float sum[1] = {0}, deviations[2] = {0, 0};  // sums of squares of deviations, and of themselves: what the mean was rounded by
  for_pieces<T, pieces>(p.hidden, [&](int i) {
    const int column = piece_column<T>(i);
    Piece<T> x;
    if constexpr (with_residual) {
      x = add_residual<aligned>(p.in, blockIdx.x, column);
      put<aligned>(p.sum + at, column, p.hidden, x);
      row.keep(i, x);
    } else {
      x = row.read(i);
    }
#pragma unroll
    for (int j = 0; j < size; ++j) sum[0] += to_float(x.element[j]);
  });
  block_sum(sum, parts);
  const float mean = sum[0] * p.inverse_hidden;
  for_pieces<T, pieces>(p.hidden, [&](int i) {
    const Piece<T> x = row.get(i);
#pragma unroll
    for (int j = 0; j < size; ++j) {
      const float deviation = to_float(x.element[j]) - mean;
      if (piece_column<T>(i) + (aligned ? 0 : j) < p.hidden) deviations[0] += deviation * deviation, deviations[1] += deviation;
    }
  });
  block_sum(deviations, parts + row_warps);
  const float rest = deviations[1] * p.inverse_hidden;
  const float rstd = rsqrtf(fmaxf(deviations[0] * p.inverse_hidden - rest * rest, 0) + epsilon);
  for_pieces<T, pieces>(p.hidden, [&](int i) {
    const int column = piece_column<T>(i);
    const Piece<T> x = row.get(i);
    const Piece<T> gain = fetch<aligned>(p.gain, column, p.hidden), bias = fetch<aligned>(p.bias, column, p.hidden);
    Piece<T> y;
#pragma unroll
    for (int j = 0; j < size; ++j) {
      const float normed = (to_float(x.element[j]) - mean - rest) * rstd;
      y.element[j] = from_float<T>(normed * to_float(gain.element[j]) + to_float(bias.element[j]));
    }
    put<aligned>(p.y + at, column, p.hidden, y);
  });
  if (threadIdx.x == 0) {
    ptx::store(p.mean + blockIdx.x, mean + rest);
    ptx::store(p.rstd + blockIdx.x, rstd);
  }
}

void check_hidden(std::int64_t hidden) {
  if (hidden < 1 || hidden > layer_norm_limit)
    throw std::invalid_argument("layer norm takes rows of 1 to 2^30 elements, not " + std::to_string(hidden));
}

template <class T, bool with_residual>
void launch_norm(const NormRows<T>& p, std::int64_t rows, const Target& target) {
  if (rows == 0) return;
  const bool aligned = p.hidden % Piece<T>::size == 0 && aligned16(p.in.x, p.in.bias, p.in.residual, p.sum, p.gain, p.bias, p.y);
  with_row_shape<T>(p.hidden, aligned, [&](auto pieces, auto whole, int threads) {
    const dim3 grid(grid_size(rows)), block(static_cast<unsigned>(threads));
    TRIREME_LAUNCH((norm_rows<T, decltype(pieces)::value, decltype(whole)::value, with_residual>), grid, block, 0, target.stream,
                   p);
  });
}

template <class T>
void set_norm(NormRows<T>& p, const Kernels::LayerNorm& op) {
  p.gain = elements<T>(op.gain, op.hidden);
  p.bias = elements<T>(op.bias, op.hidden);
  p.y = elements<T>(op.y, op.rows * op.hidden);
  p.mean = elements<float>(op.mean, op.rows);
  p.rstd = elements<float>(op.rstd, op.rows);
  p.inverse_hidden = 1 / static_cast<float>(op.hidden);
  p.hidden = narrow(op.hidden);
}

}  // namespace

void layer_norm(const Kernels::LayerNorm& op, const Target& target) {
  check_hidden(op.hidden);
  with_type(op.x.type, [&](auto zero) {
    using T = decltype(zero);
    NormRows<T> p{};
    p.in.x = elements<T>(op.x, op.rows * op.hidden);
    set_norm(p, op);
    launch_norm<T, false>(p, op.rows, target);
  });
}

void residual_layer_norm(const Kernels::ResidualLayerNorm& op, const Target& target) {
  check_hidden(op.hidden);
  const std::int64_t n = op.rows.count(), hidden = op.hidden;
  with_type(op.x.type, [&](auto zero) {
    using T = decltype(zero);
    NormRows<T> p{};
    p.in = {elements<T>(op.x, n * hidden), elements<T>(op.linear_bias, hidden), elements<T>(op.residual, n * hidden),
            narrow(hidden), masks_of(op.rows, op.dropout)};
    p.sum = elements<T>(op.sum, n * hidden);
    set_norm(p, {n, hidden, op.sum, op.gain, op.bias, op.y, op.mean, op.rstd});
    launch_norm<T, true>(p, n, target);
  });
}

}  // namespace trireme::kernels::cuda
