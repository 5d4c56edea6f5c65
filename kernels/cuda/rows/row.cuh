// One row of a matrix per block, in pieces of 16 bytes that each thread keeps in registers, so that the row is read once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/instructions/numbers.cuh"

namespace trireme::kernels::cuda {

constexpr int row_threads = 512, row_warps = row_threads / 32;  // of a block, at most

/// First column of the thread's piece i
template <class T>
__device__ __forceinline__ int piece_column(int i) {
  return static_cast<int>(i * blockDim.x + threadIdx.x) * Piece<T>::size;
}

/// Calls work(i) for the thread's pieces of a row: `pieces` of them, or, for 0, as many as it takes.
template <class T, int pieces, class Work>
__device__ __forceinline__ void for_pieces(int columns, const Work& work) {
  if constexpr (pieces > 0) {
#pragma unroll
    for (int i = 0; i < pieces; ++i) work(i);
  } else {
#pragma unroll 1
    for (int i = 0; i * static_cast<int>(blockDim.x) * Piece<T>::size < columns; ++i) work(i);
  }
}

/// The thread's pieces of a row: in registers, or, for 0 pieces, read again each time.
template <class T, int pieces, bool aligned>
struct Row {
  const T* memory;
  int columns;
  Piece<T> kept[pieces > 0 ? pieces : 1];

  __device__ __forceinline__ Piece<T> read(int i) {
    const Piece<T> piece = fetch<aligned>(memory, piece_column<T>(i), columns);
    keep(i, piece);
    return piece;
  }
  __device__ __forceinline__ void keep(int i, const Piece<T>& piece) {
    if constexpr (pieces > 0) kept[i] = piece;
  }
  __device__ __forceinline__ Piece<T> get(int i) const {
    if constexpr (pieces > 0)
      return kept[i];
    else
      return fetch<aligned>(memory, piece_column<T>(i), columns);
  }
};

/// Sums of n values over the block, to every thread, always in the same order. parts [n, row_warps] is shared memory that no
/// thread may still read from an earlier sum.
template <int n, class V>
__device__ __forceinline__ void block_sum(V (&value)[n], V* parts) {
  const int warp = static_cast<int>(threadIdx.x) / 32, warps = static_cast<int>(blockDim.x) / 32;
#pragma unroll
  for (int i = 0; i < n; ++i) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) value[i] += __shfl_xor_sync(~0u, value[i], distance);
    if (threadIdx.x % 32 == 0) parts[i * row_warps + warp] = value[i];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < n; ++i) {
    value[i] = 0;
    for (int w = 0; w < warps; ++w) value[i] += parts[i * row_warps + w];
  }
}

/// Threads for a row of `columns` elements, each with as many pieces as the others, in whole warps; a warp for none
template <class T>
int threads_of_row(std::int64_t columns, int rounds = 0) {
  const std::int64_t all = std::max<std::int64_t>((columns + Piece<T>::size - 1) / Piece<T>::size, 1);
  const std::int64_t turns = rounds > 0 ? rounds : (all + row_threads - 1) / row_threads;
  return static_cast<int>(((all + turns - 1) / turns + 31) / 32 * 32);
}

/// Calls work(pieces, aligned, threads), the first two as std::integral_constant, for rows of `columns` elements: up to four
/// pieces a thread are kept in registers. Longer rows, and rows that are not `aligned`, are read again: 0 pieces.
template <class T, class Work>
void with_row_shape(std::int64_t columns, bool aligned, const Work& work) {
  const auto all = static_cast<int>((columns + Piece<T>::size - 1) / Piece<T>::size);
  int rounds = (all + row_threads - 1) / row_threads;
  if (rounds == 3 && aligned) rounds = 4;
  const int threads = threads_of_row<T>(columns, rounds);
  if (!aligned)
    work(std::integral_constant<int, 0>{}, std::false_type{}, threads);
  else if (rounds == 1)
    work(std::integral_constant<int, 1>{}, std::true_type{}, threads);
  else if (rounds == 2)
    work(std::integral_constant<int, 2>{}, std::true_type{}, threads);
  else if (rounds == 4)
    work(std::integral_constant<int, 4>{}, std::true_type{}, threads);
  else
    work(std::integral_constant<int, 0>{}, std::true_type{}, threads);
}

/// Pieces that each of so many threads has of a row
template <class T>
std::int64_t rounds_of(std::int64_t columns, int threads) {
  return (columns + Piece<T>::size * threads - 1) / (Piece<T>::size * threads);
}

}  // namespace trireme::kernels::cuda
