// Gradients of the embedding without atomics: the tokens are sorted, equal ones in their order, and each token's rows are summed
// by one block for each slice of the columns.
#include "kernels/cuda/instructions/numbers.cuh"
#include "kernels/cuda/views.h"
#include "kernels/cuda/vocabulary/embedding.h"

namespace trireme::kernels::cuda {
namespace {

constexpr int threads = 128, together = 8;  // together: rows under way at once
constexpr unsigned elsewhere = ~0u;         // the key of tokens outside the range, and of none

/// Row of the table of token i
__device__ __forceinline__ unsigned key_of(const std::int32_t* tokens, std::int64_t n, const VocabularyRange& range,
                                           std::int64_t i) {
  if (i >= n) return elsewhere;
  const std::int64_t index = ptx::load<std::int32_t>(tokens + i) - range.first;
  return index >= 0 && index < range.valid ? static_cast<unsigned>(index) : elsewhere;
}

/// sorted [n] (key, row of dy): each thread counts how many tokens come before its own, which is its place.
TRIREME_KERNEL((threads), sort_tokens, const std::int32_t* tokens, std::int64_t n, VocabularyRange range, uint2* sorted) {
  TRIREME_SHARED(unsigned, keys, threads);
  const int own = static_cast<int>(threadIdx.x);
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * threads + own;
  const unsigned key = key_of(tokens, n, range, at);
  std::int64_t place = 0;
  for (std::int64_t first = 0; first < n; first += threads) {
    keys[own] = key_of(tokens, n, range, first + own);
    __syncthreads();
    const int ties = first + threads <= at ? threads : first <= at ? own : 0;  // of equal keys so many come before
    int before = 0;
#pragma unroll 8
    for (int i = 0; i < ties; ++i) before += keys[i] <= key ? 1 : 0;
#pragma unroll 8
    for (int i = ties; i < threads; ++i) before += keys[i] < key ? 1 : 0;
    place += before;
    __syncthreads();
  }
  if (at < n) ptx::store(sorted + place, uint2{key, static_cast<unsigned>(at)});
}

/// Sums of the thread's columns, a piece of dy: where they go, in quads `step` apart from `first` on. A quad of fp32 is half a
/// sector. So of eight sums two lanes beside each other exchange a quad, and each of their accesses is to one whole sector.
struct QuadPlaces {
  int first, step;
};
template <int size>
__device__ __forceinline__ QuadPlaces exchange_quads(int column, float (&sum)[size]) {
  if constexpr (size == 4) {
    return {column, 4};
  } else {
    const bool odd = threadIdx.x % 2 != 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float other = __shfl_xor_sync(~0u, odd ? sum[k] : sum[4 + k], 1);
      sum[k] = odd ? other : sum[k];
      sum[4 + k] = odd ? sum[4 + k] : other;
    }
    return {odd ? column - 4 : column, 8};
  }
}

/// to [columns] += rows of dy, one after the other: row_of(i) is the i-th one, negative past the last. All threads of the block.
template <bool aligned, class T, class RowOf>
__device__ __forceinline__ void add_rows(const T* dy, int columns, float* to, const RowOf& row_of) {
  constexpr int size = Piece<T>::size;
  const int column = static_cast<int>(blockIdx.y * threads + threadIdx.x) * size;
  float sum[size] = {};
  std::int64_t row[together] = {};
  for (int i = 0; row[together - 1] >= 0; i += together) {
    Piece<T> piece[together];
#pragma unroll
    for (int r = 0; r < together; ++r) row[r] = row_of(i + r);
#pragma unroll
    for (int r = 0; r < together; ++r)
      if (row[r] >= 0) piece[r] = fetch<aligned>(dy + row[r] * columns, column, columns);
#pragma unroll
    for (int r = 0; r < together; ++r)
#pragma unroll
      for (int j = 0; j < size; ++j) sum[j] += row[r] >= 0 ? to_float(piece[r].element[j]) : 0.0f;
  }
  const QuadPlaces at = exchange_quads(column, sum);
#pragma unroll
  for (int j = 0; j < size; j += 4) {
    Piece<float> total = fetch<aligned>(to, at.first + j / 4 * at.step, columns);
#pragma unroll
    for (int k = 0; k < 4; ++k) total.element[k] += sum[j + k];
    put<aligned>(to, at.first + j / 4 * at.step, columns, total);
  }
}

/// Block (place, slice): does nothing unless it has the first of a token's places.
template <class T, bool aligned>
TRIREME_KERNEL((threads), token_rows, const uint2* sorted, int n, const T* dy, int columns, float* dtable) {
  const int first = static_cast<int>(blockIdx.x);
  const auto key = ptx::load<uint2>(sorted + first).x;
  if (key == elsewhere) return;
  if (first > 0 && ptx::load<uint2>(sorted + first - 1).x == key) return;
  add_rows<aligned>(dy, columns, dtable + static_cast<std::int64_t>(key) * columns, [&](int i) -> std::int64_t {
    if (first + i >= n) return -1;
    const auto token = ptx::load<uint2>(sorted + first + i);
    return token.x == key ? static_cast<std::int64_t>(token.y) : -1;
  });
}

/// Block (position, slice)
template <class T, bool aligned>
TRIREME_KERNEL((threads), position_rows, int batch, const T* dy, int columns, float* dpositions) {
  const std::int64_t position = blockIdx.x;
  add_rows<aligned>(dy, columns, dpositions + position * columns,
                    [&](int i) -> std::int64_t { return i < batch ? position * batch + i : -1; });
}

}  // namespace

std::int64_t embedding_scratch(Rows rows) { return 2 * rows.count(); }

cost::Cost embedding_backward_cost(Rows rows, std::int64_t hidden, std::int64_t width, bool with_positions) {
  const std::int64_t n = rows.count();
  const cost::Cost of_table = cost::moves(n * hidden, n + 4 * n + 2 * n * hidden, width);
  return of_table + (with_positions ? cost::moves(n * hidden, 2 * rows.sequence * hidden, width) : cost::Cost{});
}

void embedding_backward(const Kernels::EmbeddingBackward& op, View scratch, const Target& target) {
  const std::int64_t n = op.rows.count(), hidden = op.hidden;
  if (n == 0) return;
  const std::int32_t* token = elements<std::int32_t>(op.tokens, n);
  auto* sorted = reinterpret_cast<uint2*>(elements<std::int32_t>(scratch, embedding_scratch(op.rows)));
  if (reinterpret_cast<std::uintptr_t>(sorted) % sizeof(uint2) != 0)
    throw std::invalid_argument("embedding_backward takes scratch that begins at a multiple of 8 bytes");
  auto* to_table = elements<float>(op.dtable, op.range.rows * hidden);
  float* to_positions = op.dpositions ? elements<float>(op.dpositions, op.rows.sequence * hidden) : nullptr;
  TRIREME_LAUNCH(sort_tokens, dim3(blocks_of(n, threads)), dim3(threads), 0, target.stream, token, n, op.range, sorted);
  with_type(op.dy.type, [&](auto zero) {
    using T = decltype(zero);
    const T* from = elements<T>(op.dy, n * hidden);
    const unsigned slices = blocks_of(hidden, threads * Piece<T>::size);
    const dim3 of_tokens(grid_size(n), slices), of_positions(grid_size(op.rows.sequence), slices);
    const int columns = narrow(hidden), batch = narrow(op.rows.batch);
    with_flag(hidden % Piece<T>::size == 0 && aligned16(from, to_table, to_positions), [&](auto aligned) {
      TRIREME_LAUNCH((token_rows<T, decltype(aligned)::value>), of_tokens, dim3(threads), 0, target.stream, sorted, narrow(n),
                     from, columns, to_table);
      if (to_positions != nullptr)
        TRIREME_LAUNCH((position_rows<T, decltype(aligned)::value>), of_positions, dim3(threads), 0, target.stream, batch, from,
                       columns, to_positions);
    });
  });
}

}  // namespace trireme::kernels::cuda
