// Cross-entropy in place of the logits, one block a row; each of the three steps reads a row once, writes it at most once.
#include "kernels/cuda/rows/row.cuh"
#include "kernels/cuda/views.h"
#include "kernels/cuda/vocabulary/cross_entropy.h"

namespace trireme::kernels::cuda {
namespace {

template <class T>
struct LogitRows {
  T* logits;  // [rows, columns], the first `valid` of a row being tokens first .. first + valid - 1
  const std::int32_t* targets;
  const float *maximum, *sums;
  std::int64_t first;
  int valid, columns;
};

/// Calls work(column, piece) for the thread's pieces of the row's first `columns` elements, four being read at once; elements
/// past the end may be anything.
template <bool aligned, class T, class Work>
__device__ __forceinline__ void for_row(const T* row, int columns, const Work& work) {
  constexpr int together = 4;
#pragma unroll 1
  for (int i = 0; i * static_cast<int>(blockDim.x) * Piece<T>::size < columns; i += together) {
    Piece<T> piece[together];
#pragma unroll
    for (int k = 0; k < together; ++k) piece[k] = fetch<aligned>(row, piece_column<T>(i + k), columns);
#pragma unroll
    for (int k = 0; k < together; ++k) work(piece_column<T>(i + k), piece[k]);
  }
}

/// The block's row
template <class T>
__device__ __forceinline__ T* block_row(const LogitRows<T>& p) {
  return p.logits + static_cast<std::int64_t>(blockIdx.x) * p.columns;
}

/// Column of the row's target, or -1 where it is outside the range
template <class T>
__device__ __forceinline__ int target_column(const LogitRows<T>& p) {
  const std::int64_t column = ptx::load<std::int32_t>(p.targets + blockIdx.x) - p.first;
  return column >= 0 && column < p.valid ? static_cast<int>(column) : -1;
}

template <class T, bool aligned>
TRIREME_KERNEL((row_threads), maximum_rows, LogitRows<T> p, float* maximum) {
  TRIREME_SHARED(float, parts, row_warps);
  float best = -INFINITY;
  for_row<aligned>(block_row(p), p.valid, [&](int column, const Piece<T>& x) {
#pragma unroll
    for (int j = 0; j < Piece<T>::size; ++j)
      if (column + j < p.valid) best = fmaxf(best, to_float(x.element[j]));
  });
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) best = fmaxf(best, __shfl_xor_sync(~0u, best, distance));
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = best;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int warp = 1; warp < static_cast<int>(blockDim.x) / 32; ++warp) best = fmaxf(best, parts[warp]);
  ptx::store(maximum + blockIdx.x, best);
}

/// The target's logit is taken by the thread that overwrites it.
template <class T, bool aligned>
TRIREME_KERNEL((row_threads), exponential_rows, LogitRows<T> p, float* sums, float* target_logits) {
  TRIREME_SHARED(float, parts, row_warps);
  T* row = block_row(p);
  const float maximum = ptx::load<float>(p.maximum + blockIdx.x);
  const int target = target_column(p);
  float sum[1] = {0};
  for_row<aligned>(row, p.columns, [&](int column, Piece<T>& x) {
#pragma unroll
    for (int j = 0; j < Piece<T>::size; ++j) {
      const float shifted = to_float(x.element[j]) - maximum;
      const float exponential = column + j < p.valid ? expf(shifted) : 0.0f;
      if (column + j == target) ptx::store(target_logits + blockIdx.x, shifted);
      x.element[j] = from_float<T>(exponential);
      sum[0] += exponential;
    }
    put<aligned>(row, column, p.columns, x);
  });
  block_sum(sum, parts);
  if (threadIdx.x > 0) return;
  ptx::store(sums + blockIdx.x, sum[0]);
  if (target < 0) ptx::store(target_logits + blockIdx.x, 0.0f);
}

template <class T, bool aligned>
TRIREME_KERNEL((row_threads), logit_gradient_rows, LogitRows<T> p, const float* target_logits, float scale, float* losses) {
  T* row = block_row(p);
  const float sum = ptx::load<float>(p.sums + blockIdx.x), factor = scale / sum;
  const int target = target_column(p);
  for_row<aligned>(row, p.columns, [&](int column, Piece<T>& x) {
#pragma unroll
    for (int j = 0; j < Piece<T>::size; ++j) {
      const float gradient = factor * to_float(x.element[j]) - (column + j == target ? scale : 0.0f);
      x.element[j] = from_float<T>(column + j < p.valid ? gradient : 0.0f);
    }
    put<aligned>(row, column, p.columns, x);
  });
  if (threadIdx.x == 0) ptx::store(losses + blockIdx.x, logf(sum) - ptx::load<float>(target_logits + blockIdx.x));
}

template <class T>
LogitRows<T> logit_rows(std::int64_t rows, View logits, VocabularyRange range) {
  LogitRows<T> p{};
  p.logits = elements<T>(logits, rows * range.rows);
  p.first = range.first;
  p.valid = narrow(range.valid);
  p.columns = narrow(range.rows);
  return p;
}

/// Calls work(p, aligned, grid, block) with p a LogitRows of the type of the logits, and aligned as std::bool_constant.
template <class Work>
void with_rows(std::int64_t rows, View logits, VocabularyRange range, const Work& work) {
  if (rows == 0) return;
  with_type(logits.type, [&](auto zero) {
    using T = decltype(zero);
    const LogitRows<T> p = logit_rows<T>(rows, logits, range);
    const dim3 grid(grid_size(rows)), block(static_cast<unsigned>(threads_of_row<T>(range.rows)));
    with_flag(range.rows % Piece<T>::size == 0 && aligned16(p.logits), [&](auto aligned) { work(p, aligned, grid, block); });
  });
}

}  // namespace

void cross_entropy_maximum(std::int64_t rows, View logits, VocabularyRange range, View maximum, const Target& target) {
  auto* best = elements<float>(maximum, rows);
  with_rows(rows, logits, range, [&]<class T>(const LogitRows<T>& p, auto aligned, dim3 grid, dim3 block) {
    TRIREME_LAUNCH((maximum_rows<T, decltype(aligned)::value>), grid, block, 0, target.stream, p, best);
  });
}

void cross_entropy_sums(const Kernels::CrossEntropySums& op, const Target& target) {
  auto *total = elements<float>(op.sums, op.rows), *of_target = elements<float>(op.target_logits, op.rows);
  with_rows(op.rows, op.logits, op.range, [&]<class T>(LogitRows<T> p, auto aligned, dim3 grid, dim3 block) {
    p.targets = elements<std::int32_t>(op.targets, op.rows);
    p.maximum = elements<float>(op.maximum, op.rows);
    TRIREME_LAUNCH((exponential_rows<T, decltype(aligned)::value>), grid, block, 0, target.stream, p, total, of_target);
  });
}

void cross_entropy_gradient(const Kernels::CrossEntropyGradient& op, const Target& target) {
  const float* of_target = elements<float>(op.target_logits, op.rows);
  auto* loss = elements<float>(op.losses, op.rows);
  with_rows(op.rows, op.logits, op.range, [&]<class T>(LogitRows<T> p, auto aligned, dim3 grid, dim3 block) {
    p.targets = elements<std::int32_t>(op.targets, op.rows);
    p.sums = elements<float>(op.sums, op.rows);
    TRIREME_LAUNCH((logit_gradient_rows<T, decltype(aligned)::value>), grid, block, 0, target.stream, p, of_target, op.scale,
                   loss);
  });
}

}  // namespace trireme::kernels::cuda
