// Layer norm (Ba, Kiros and Hinton, 2016), one block a row, each row read once. The weight gradients are formed in two stages:
// every block sums the rows it visits in shared memory, a second kernel sums the blocks.
#include "kernels/cuda/layer_norm.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "kernels/cuda/dropout.cuh"
#include "kernels/cuda/fold.cuh"
#include "kernels/cuda/row.cuh"
#include "kernels/cuda/views.h"

namespace trireme::kernels::cuda {
namespace {

constexpr float epsilon = 1e-5f;

template <class T>
struct NormRows {
  const T *x, *linear_bias, *residual, *gain, *bias;  // linear_bias, residual: only with a residual
  T *sum, *y;
  float *mean, *rstd;
  float inverse_hidden;  // of hidden
  int hidden;
  unsigned batch;
  std::int64_t first;  // position of row 0
  DropoutMask mask;
};

/// residual + dropout(x + linear_bias), rounded
template <bool aligned, class T>
__device__ __forceinline__ Piece<T> add_residual(const NormRows<T>& p, int column, const Piece<T>& x) {
  const unsigned row = blockIdx.x;
  const Piece<T> bias = fetch<aligned>(p.linear_bias, column, p.hidden);
  Piece<T> sum = fetch<aligned>(p.residual + static_cast<std::int64_t>(row) * p.hidden, column, p.hidden);
  const std::int64_t groups = (p.hidden + 3) / 4, position = p.first + row / p.batch;
#pragma unroll
  for (int j = 0; j < Piece<T>::size; j += 4) {
    float factors[4] = {1, 1, 1, 1};
    const int group = (column + (TRIREME_BUG(layer_norm_one_group) ? 0 : j)) / 4;
    if (p.mask.threshold > 0)
      dropout_factors(p.mask, row % p.batch, static_cast<std::uint64_t>(position * groups + group), factors);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float added = to_float(x.element[j + k]) + to_float(bias.element[j + k]);
      sum.element[j + k] = from_float<T>(to_float(sum.element[j + k]) + factors[k] * added);
    }
  }
  return sum;
}

template <class T, int pieces, bool aligned, bool with_residual>
__global__ void __launch_bounds__(row_threads) norm_rows(NormRows<T> p) {
  TRIREME_SHARED(float, parts, 2 * row_warps);
  constexpr int size = Piece<T>::size;
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * p.hidden;
  Row<T, pieces, aligned> row{(with_residual ? p.sum : p.x) + at, p.hidden + (TRIREME_BUG(layer_norm_row_bound) ? size : 0), {}};
  float sum[1] = {0}, squares[1] = {0};
  for_pieces<T, pieces>(p.hidden, [&](int i) {
    const int column = piece_column<T>(i);
    Piece<T> x;
    if constexpr (with_residual) {
      x = add_residual<aligned>(p, column, fetch<aligned>(p.x + at, column, p.hidden));
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
      if (piece_column<T>(i) + (aligned ? 0 : j) < p.hidden || TRIREME_BUG(layer_norm_counts_padding))
        squares[0] += deviation * deviation;
    }
  });
  block_sum(squares, parts + (TRIREME_BUG(layer_norm_same_parts) ? 0 : row_warps));
  const float rstd = rsqrtf(squares[0] * p.inverse_hidden + epsilon);
  for_pieces<T, pieces>(p.hidden, [&](int i) {
    const int column = piece_column<T>(i);
    const Piece<T> x = row.get(i);
    const Piece<T> gain = fetch<aligned>(p.gain, column, p.hidden), bias = fetch<aligned>(p.bias, column, p.hidden);
    Piece<T> y;
#pragma unroll
    for (int j = 0; j < size; ++j) {
      const float normed = (to_float(x.element[j]) - mean) * rstd;
      y.element[j] = from_float<T>(normed * to_float(gain.element[j]) + to_float(bias.element[j]));
    }
    put<aligned>(p.y + at, column, p.hidden, y);
  });
  if (threadIdx.x == 0) {
    ptx::store(p.mean + blockIdx.x, mean);
    ptx::store(p.rstd + blockIdx.x, rstd);
  }
}

template <class T>
struct GradientRows {
  const T *dy, *x, *gain, *dresidual;  // dresidual: null or [rows, hidden], may be dx
  const float *mean, *rstd;
  T* dx;
  float* parts;  // [blocks, 2, hidden]
  std::int64_t rows;
  float inverse_hidden;  // of hidden
  int hidden;
};

/// Adds the row's terms to the thread's own places of the sums: quads of four floats, one thread's beside the next one's, so that
/// 16-byte accesses meet no bank conflict. quad [2 pieces size / 4, threads]: gain, then bias.
template <int count>
__device__ __forceinline__ void accumulate(float* quads, int first, const float (&term)[count]) {
#pragma unroll
  for (int j = 0; j < count; j += 4) {
    float* place = quads + 4 * ((first + j / 4) * blockDim.x + threadIdx.x);
    auto quad = ptx::load<float4>(place);
    quad.x += term[j];
    quad.y += term[j + 1];
    quad.z += term[j + 2];
    quad.w += term[j + 3];
    ptx::store(place, quad);
  }
}

/// The block's parts of dgain and dbias, from the places of `accumulate` to memory
template <class T, bool aligned>
__device__ __forceinline__ void put_parts(const GradientRows<T>& p, const float* sums, int quads) {
#pragma unroll 1
  for (int q = 0; q < 2 * quads; ++q) {
    const int within = q % quads * 4, size = Piece<T>::size;
    float* to = p.parts + (2 * static_cast<std::int64_t>(blockIdx.x) + q / quads) * p.hidden;
    const auto quad = ptx::load<Piece<float>>(sums + 4 * (q * blockDim.x + threadIdx.x));
    put<aligned>(to, piece_column<T>(within / size) + within % size, p.hidden, quad);
  }
}

/// dx = dresidual + rstd (g - mean(g) - z mean(g z)) with g = dy gain, z = (x - mean) rstd; the block's parts of dgain, dbias.
/// Block i visits rows i, i + gridDim.x ... quads: of each sum, a thread.
template <class T, int pieces, bool aligned>
__global__ void __launch_bounds__(row_threads) gradient_rows(GradientRows<T> p, int quads) {
  TRIREME_SHARED(float, parts, 4 * row_warps);
  TRIREME_DYNAMIC_SHARED(memory);
  constexpr int size = Piece<T>::size;
  auto* sums = reinterpret_cast<float*>(memory);
  for (int q = 0; q < 2 * quads && !TRIREME_BUG(layer_norm_sums_not_zeroed); ++q)
    ptx::store(sums + 4 * (q * blockDim.x + threadIdx.x), float4{0, 0, 0, 0});
  int turn = 0;
  for (std::int64_t r = blockIdx.x; r < p.rows - (TRIREME_BUG(layer_norm_last_row) ? 1 : 0); r += gridDim.x) {
    const float mean = ptx::load<float>(p.mean + r), rstd = ptx::load<float>(p.rstd + r);
    Row<T, pieces, aligned> dy_row{p.dy + r * p.hidden, p.hidden, {}}, x_row{p.x + r * p.hidden, p.hidden, {}};
    float total[2] = {0, 0};  // of g and of g z
    for_pieces<T, pieces>(p.hidden, [&](int i) {
      const Piece<T> dy = dy_row.read(i), x = x_row.read(i), gain = fetch<aligned>(p.gain, piece_column<T>(i), p.hidden);
      float dgain[size], dbias[size];
#pragma unroll
      for (int j = 0; j < size; ++j) {
        dbias[j] = to_float(dy.element[j]);
        dgain[j] = dbias[j] * ((to_float(x.element[j]) - mean) * rstd);
        total[0] += dbias[j] * to_float(gain.element[j]);
        total[1] += dgain[j] * to_float(gain.element[j]);
      }
      accumulate(sums, i * size / 4, dgain);
      accumulate(sums, quads + i * size / 4, dbias);
    });
    block_sum(total, parts + 2 * row_warps * (TRIREME_BUG(layer_norm_parity) ? 0 : turn));
    turn ^= 1;  // a thread may be one sum ahead of the others, never two
    const float a = total[0] * p.inverse_hidden, b = total[1] * p.inverse_hidden;
    for_pieces<T, pieces>(p.hidden, [&](int i) {
      const int column = piece_column<T>(i);
      const Piece<T> dy = dy_row.get(i), x = x_row.get(i), gain = fetch<aligned>(p.gain, column, p.hidden);
      Piece<T> dx;
      if (p.dresidual != nullptr) dx = fetch<aligned>(p.dresidual + r * p.hidden, column, p.hidden);
#pragma unroll
      for (int j = 0; j < size; ++j) {
        const float z = (to_float(x.element[j]) - mean) * rstd;
        const float through = rstd * (to_float(dy.element[j]) * to_float(gain.element[j]) - a - z * b);
        dx.element[j] = from_float<T>(through + (p.dresidual != nullptr ? to_float(dx.element[j]) : 0.0f));
      }
      put<aligned>(p.dx + r * p.hidden, column, p.hidden, dx);
    });
  }
  put_parts<T, aligned>(p, sums, quads);
}

/// Blocks of the backward pass; a function of the shape alone
std::int64_t gradient_blocks(std::int64_t rows) { return std::min<std::int64_t>((rows + 15) / 16, 264); }

void check_hidden(std::int64_t hidden) {
  if (hidden < 1 || hidden > layer_norm_limit)
    throw std::invalid_argument("layer norm on a GPU takes rows of 1 to " + std::to_string(layer_norm_limit) + " elements, not " +
                                std::to_string(hidden));
}

template <class T, bool with_residual>
void launch_norm(const NormRows<T>& p, std::int64_t rows, Stream stream) {
  const bool aligned = (p.hidden % Piece<T>::size == 0 && aligned16(p.x) && aligned16(p.y) && aligned16(p.gain) &&
                        aligned16(p.bias) && aligned16(p.linear_bias) && aligned16(p.residual) && aligned16(p.sum)) ||
                       TRIREME_BUG(layer_norm_always_aligned);
  with_row_shape<T>(p.hidden, aligned, [&](auto pieces, auto whole, int threads) {
    const dim3 grid(static_cast<unsigned>(rows)), block(static_cast<unsigned>(threads));
    TRIREME_LAUNCH((norm_rows<T, decltype(pieces)::value, decltype(whole)::value, with_residual>), grid, block, 0, stream, p);
  });
}

template <class T>
void launch_gradient(const GradientRows<T>& p, std::int64_t blocks, Stream stream) {
  const bool aligned = p.hidden % Piece<T>::size == 0 && aligned16(p.dy) && aligned16(p.x) && aligned16(p.gain) &&
                       aligned16(p.dresidual) && aligned16(p.dx) && aligned16(p.parts);
  with_row_shape<T>(p.hidden, aligned, [&](auto pieces, auto whole, int threads) {
    const dim3 grid(static_cast<unsigned>(blocks)), block(static_cast<unsigned>(threads));
    const std::int64_t quads = rounds_of<T>(p.hidden, threads) * Piece<T>::size / 4;
    const auto shared = static_cast<std::size_t>(2 * quads * threads) * sizeof(float4);
    TRIREME_LAUNCH((gradient_rows<T, decltype(pieces)::value, decltype(whole)::value>), grid, block, shared, stream, p,
                   static_cast<int>(quads));
  });
}

}  // namespace

void layer_norm(std::int64_t rows, std::int64_t hidden, View x, View gain, View bias, View y, View mean, View rstd,
                Stream stream) {
  check_hidden(hidden);
  with_type(x.type, [&](auto zero) {
    using T = decltype(zero);
    NormRows<T> p{};
    p.x = elements<T>(x, rows * hidden);
    p.gain = elements<T>(gain, hidden);
    p.bias = elements<T>(bias, hidden);
    p.y = elements<T>(y, rows * hidden);
    p.mean = elements<float>(mean, rows);
    p.rstd = elements<float>(rstd, rows);
    p.inverse_hidden = 1 / static_cast<float>(hidden);
    p.hidden = static_cast<int>(hidden);
    launch_norm<T, false>(p, rows, stream);
  });
}

void residual_layer_norm(Rows rows, std::int64_t hidden, View x, View linear_bias, Dropout dropout, View residual, View sum,
                         View gain, View bias, View y, View mean, View rstd, Stream stream) {
  check_hidden(hidden);
  const std::int64_t n = rows.count();
  with_type(x.type, [&](auto zero) {
    using T = decltype(zero);
    NormRows<T> p{};
    p.x = elements<T>(x, n * hidden);
    p.linear_bias = elements<T>(linear_bias, hidden);
    p.residual = elements<T>(residual, n * hidden);
    p.sum = elements<T>(sum, n * hidden);
    p.gain = elements<T>(gain, hidden);
    p.bias = elements<T>(bias, hidden);
    p.y = elements<T>(y, n * hidden);
    p.mean = elements<float>(mean, n);
    p.rstd = elements<float>(rstd, n);
    p.inverse_hidden = 1 / static_cast<float>(hidden);
    p.hidden = static_cast<int>(hidden);
    p.batch = static_cast<unsigned>(rows.batch);
    p.first = rows.first;
    p.mask = mask_of(dropout);
    launch_norm<T, true>(p, n, stream);
  });
}

std::int64_t layer_norm_scratch(std::int64_t rows, std::int64_t hidden) { return 2 * gradient_blocks(rows) * hidden; }

void layer_norm_backward(std::int64_t rows, std::int64_t hidden, View dy, View x, View gain, View mean, View rstd, View dresidual,
                         View dx, View dgain, View dbias, View scratch, Stream stream) {
  check_hidden(hidden);
  const std::int64_t blocks = gradient_blocks(rows);
  auto* parts = elements<float>(scratch, layer_norm_scratch(rows, hidden));
  with_type(x.type, [&](auto zero) {
    using T = decltype(zero);
    GradientRows<T> p{};
    p.dy = elements<T>(dy, rows * hidden);
    p.x = elements<T>(x, rows * hidden);
    p.gain = elements<T>(gain, hidden);
    if (dresidual) p.dresidual = elements<T>(dresidual, rows * hidden);
    p.mean = elements<float>(mean, rows);
    p.rstd = elements<float>(rstd, rows);
    p.dx = elements<T>(dx, rows * hidden);
    p.parts = parts;
    p.rows = rows;
    p.inverse_hidden = 1 / static_cast<float>(hidden);
    p.hidden = static_cast<int>(hidden);
    launch_gradient(p, blocks, stream);
  });
  const dim3 grid(static_cast<unsigned>((2 * hidden + fold_columns - 1) / fold_columns)), block(fold_columns, fold_rows);
  const float* from = parts;
  TRIREME_LAUNCH(fold_parts, grid, block, 0, stream, from, static_cast<int>(blocks), static_cast<int>(hidden),
                 elements<float>(dgain, hidden), elements<float>(dbias, hidden));
}

}  // namespace trireme::kernels::cuda
