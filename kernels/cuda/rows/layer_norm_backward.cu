// Layer norm's gradients, one block a row, each row read once where it fits in registers. The weight gradients are formed in two
// stages: every block sums the rows it visits in shared memory, a second kernel sums the blocks. Where the sums of a row do not
// fit there, a kernel of its own forms them by tiles of columns.
#include <algorithm>

#include "kernels/cuda/rows/columns.cuh"
#include "kernels/cuda/rows/fold.cuh"
#include "kernels/cuda/rows/layer_norm.h"
#include "kernels/cuda/rows/row.cuh"

namespace trireme::kernels::cuda {
namespace {

template <class T>
struct GradientRows {
  const T *dy, *x, *gain, *dresidual;  // dresidual: null or [rows, hidden], may be dx
  const float *mean, *rstd;
  T* dx;
  float* parts;  // [blocks, 2, hidden]; null: the weight gradients are formed elsewhere
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

constexpr std::int64_t longest_summed_by_rows = 20480;  // a multiple of row_threads pieces of any type
static_assert(2 * sizeof(float) * longest_summed_by_rows + sizeof(float[4 * row_warps]) <= 163 * 1024, "sm_80's shared memory");
/// Two sums of every column of the longest rows with so many pieces a thread
template <class T, int pieces>
constexpr std::int64_t most_shared_bytes = 2 * sizeof(float) *
                                           (pieces == 0 ? longest_summed_by_rows : pieces * Piece<T>::size * row_threads);

/// dx = dresidual + rstd (g - mean(g) - z mean(g z)) with g = dy gain, z = (x - mean) rstd; the block's parts of dgain, dbias.
/// Block i visits rows i, i + gridDim.x ... quads: of each sum, a thread. Two blocks an SM, so that one reads while the other
/// waits for its sums; with 32 elements of each operand a thread the registers do not suffice.
template <class T, int pieces, bool aligned>
TRIREME_KERNEL((row_threads, pieces* Piece<T>::size <= 16 ? 2 : 1), gradient_rows, GradientRows<T> p, int quads) {
  TRIREME_SHARED(float, parts, 4 * row_warps);
  TRIREME_DYNAMIC_SHARED(memory, (most_shared_bytes<T, pieces>));
  constexpr int size = Piece<T>::size;
  auto* sums = reinterpret_cast<float*>(memory);
  for (int q = 0; q < 2 * quads; ++q) ptx::store(sums + 4 * (q * blockDim.x + threadIdx.x), float4{0, 0, 0, 0});
  int turn = 0;
  for (std::int64_t r = blockIdx.x; r < p.rows; r += gridDim.x) {
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
      if (p.parts != nullptr) {
        accumulate(sums, i * size / 4, dgain);
        accumulate(sums, quads + i * size / 4, dbias);
      }
    });
    block_sum(total, parts + 2 * row_warps * turn);
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
  if (p.parts != nullptr) put_parts<T, aligned>(p, sums, quads);
}

/// parts [gridDim.y, 2, hidden] of dgain and dbias
template <class T, bool aligned>
TRIREME_KERNEL((column_threads), gradient_columns, GradientRows<T> p) {
  sum_columns<2, T>(p.rows, p.hidden, p.parts, [&](std::int64_t row, int column, auto& term) {
    const float mean = ptx::load<float>(p.mean + row), rstd = ptx::load<float>(p.rstd + row);
    const Piece<T> dy = fetch<aligned>(p.dy + row * p.hidden, column, p.hidden);
    const Piece<T> x = fetch<aligned>(p.x + row * p.hidden, column, p.hidden);
#pragma unroll
    for (int j = 0; j < Piece<T>::size; ++j) {
      const float d = to_float(dy.element[j]), deviation = to_float(x.element[j]) - mean;
      term[0][j] += d * (deviation * rstd);
      term[1][j] += d;
    }
  });
}

/// Parts of the weight gradients; a function of the shape alone
std::int64_t gradient_parts(std::int64_t rows, std::int64_t hidden) {
  return hidden > longest_summed_by_rows ? row_shares(rows) : std::min<std::int64_t>((rows + 15) / 16, 264);
}

/// Without p.parts: no sums
template <class T>
void launch_rows(const GradientRows<T>& p, std::int64_t blocks, bool is_aligned, const Target& target) {
  with_row_shape<T>(p.hidden, is_aligned, [&](auto pieces, auto whole, int threads) {
    const dim3 grid(grid_size(blocks)), block(static_cast<unsigned>(threads));
    const std::int64_t quads = p.parts == nullptr ? 0 : rounds_of<T>(p.hidden, threads) * Piece<T>::size / 4;
    const auto shared = static_cast<std::size_t>(std::max<std::int64_t>(2 * quads * threads, 1)) * sizeof(float4);
    TRIREME_LAUNCH((gradient_rows<T, decltype(pieces)::value, decltype(whole)::value>), grid, block, shared, target.stream, p,
                   narrow(quads));
  });
}

template <class T>
void launch_gradient(GradientRows<T> p, const Target& target) {
  const bool is_aligned = p.hidden % Piece<T>::size == 0 && aligned16(p.dy, p.x, p.gain, p.dresidual, p.dx, p.parts);
  const std::int64_t parts = gradient_parts(p.rows, p.hidden);
  if (p.hidden <= longest_summed_by_rows) return launch_rows(p, parts, is_aligned, target);
  with_flag(is_aligned, [&](auto whole) {
    const dim3 grid(blocks_of(p.hidden, column_lanes * Piece<T>::size), grid_size(parts));
    TRIREME_LAUNCH((gradient_columns<T, decltype(whole)::value>), grid, dim3(column_lanes, column_rows), 0, target.stream, p);
  });
  p.parts = nullptr;
  launch_rows(p, p.rows, is_aligned, target);
}

}  // namespace

std::int64_t layer_norm_scratch(std::int64_t rows, std::int64_t hidden) { return 2 * gradient_parts(rows, hidden) * hidden; }

cost::Cost layer_norm_backward_cost(std::int64_t rows, std::int64_t hidden, std::int64_t width) {
  const cost::Cost once = cost::layer_norm_backward(rows, hidden, width);
  const cost::Cost parts = cost::moves(0, 2 * layer_norm_scratch(rows, hidden), width);
  return once + parts + (hidden > longest_summed_by_rows ? cost::moves(2 * rows * hidden, 2 * rows, width) : cost::Cost{});
}

void layer_norm_backward(const Kernels::LayerNormBackward& op, View scratch, const Target& target) {
  const std::int64_t rows = op.rows, hidden = op.hidden;
  if (rows == 0) return;
  auto* parts = elements<float>(scratch, layer_norm_scratch(rows, hidden));
  with_type(op.x.type, [&](auto zero) {
    using T = decltype(zero);
    GradientRows<T> p{};
    p.dy = elements<T>(op.dy, rows * hidden);
    p.x = elements<T>(op.x, rows * hidden);
    p.gain = elements<T>(op.gain, hidden);
    if (op.dresidual) p.dresidual = elements<T>(op.dresidual, rows * hidden);
    p.mean = elements<float>(op.mean, rows);
    p.rstd = elements<float>(op.rstd, rows);
    p.dx = elements<T>(op.dx, rows * hidden);
    p.parts = parts;
    p.rows = rows;
    p.inverse_hidden = 1 / static_cast<float>(hidden);
    p.hidden = narrow(hidden);
    launch_gradient(p, target);
  });
  launch_fold(parts, gradient_parts(rows, hidden), hidden, elements<float>(op.dgain, hidden), elements<float>(op.dbias, hidden),
              target);
}

}  // namespace trireme::kernels::cuda
