// Tiles of 2-byte elements in shared memory, rows of `chunks` chunks of 16 bytes, and the fragments that mma.sync takes of them
// (PTX ISA, "Matrix Fragments for mma.m16n8k16"). Chunks change places so that ldmatrix meets no bank conflict.
#pragma once

#include <cstdint>

#include "kernels/cuda/instructions/numbers.cuh"

namespace trireme::kernels::cuda {

/// Byte of chunk `chunk` of a row, or, for odd = 1, of the next one of an even `chunk`. Eight rows that follow each other, at one
/// chunk, lie in eight different places of 16 within 128 bytes: rows that begin at the same one (every 8 / together-th) xor their
/// chunk with different numbers. What depends on the lane stands apart from `chunk`: fewer addresses, fewer registers.
template <int chunks>
__device__ __forceinline__ int place(int row, int chunk, int odd = 0) {
  constexpr int together = chunks % 8 == 0 ? 8 : chunks % 4 == 0 ? 4 : chunks % 2 == 0 ? 2 : 1;
  const int of_lane = (row / (8 / together) % together ^ odd);
  return row * chunks * 16 + chunk / together * together * 16 + (of_lane ^ chunk % together) * 16;
}

/// Rows first .. first + height - 1, columns from .. from + 8 chunks - 1 of a matrix [rows, columns] whose rows are `stride`
/// elements apart, into a tile, by all threads of the block; 0 outside it. `aligned`: every row begins at a multiple of 16 bytes
/// and has whole chunks; then it is cp.async, which the caller commits.
template <int height, int chunks, int threads, bool aligned, class T>
__device__ __forceinline__ void fetch_tile(unsigned char* tile, const T* matrix, std::int64_t stride, int first, int rows,
                                           int from, int columns) {
  constexpr int steps = (height * chunks + threads - 1) / threads;
#pragma unroll(aligned&& steps <= 2 ? steps : 1)  // more would keep the addresses, or what was loaded, of all in registers
  for (int i = 0; i < steps; ++i) {
    const int n = i * threads + static_cast<int>(threadIdx.x), row = first + n / chunks, column = from + n % chunks * 8;
    if (height * chunks % threads != 0 && n >= height * chunks) break;
    const bool inside = row < rows && column < columns;
    const T* source = matrix + row * stride + column;
    unsigned char* to = tile + place<chunks>(n / chunks, n % chunks);
    if constexpr (aligned) {
      ptx::cp_async<16>(to, inside ? source : matrix, inside ? 16 : 0);
    } else {
      Piece<T> piece;
#pragma unroll
      for (int j = 0; j < 8; ++j) piece.element[j] = inside && column + j < columns ? ptx::load<T>(source + j) : from_float<T>(0);
      ptx::store(to, piece);
    }
  }
}

/// Operand A [16, 16]: rows row .. row + 15, columns 8 chunk .. 8 chunk + 15 of a tile; chunk is even
template <int chunks>
__device__ __forceinline__ void load_a(std::uint32_t (&a)[4], const unsigned char* tile, int row, int chunk) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  ptx::ldmatrix(a, tile + place<chunks>(row + lane % 16, chunk, lane / 16));
}

/// Operand A = S^T of S [16, 16]: rows row .. row + 15 (which are A's columns), columns 8 chunk .. 8 chunk + 15
template <int chunks>
__device__ __forceinline__ void load_a_transposed(std::uint32_t (&a)[4], const unsigned char* tile, int row, int chunk) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  ptx::ldmatrix_transposed(a, tile + place<chunks>(row + lane / 16 * 8 + lane % 8, chunk, lane / 8 % 2));
}

/// Two operands B [16, 8], side by side, = S^T of S [16, 16]: rows row .. row + 15 (B's columns), columns 8 chunk .. 8 chunk + 15
template <int chunks>
__device__ __forceinline__ void load_b(std::uint32_t (&left)[2], std::uint32_t (&right)[2], const unsigned char* tile, int row,
                                       int chunk) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const void* from = tile + place<chunks>(row + lane / 16 * 8 + lane % 8, chunk, lane / 8 % 2);
  std::uint32_t r[4];
  ptx::ldmatrix(r, from);
  left[0] = r[0], left[1] = r[1], right[0] = r[2], right[1] = r[3];
}

/// Two operands B [16, 8], side by side: rows row .. row + 15, columns 8 chunk .. 8 chunk + 15 of a tile; chunk is even
template <int chunks>
__device__ __forceinline__ void load_b_transposed(std::uint32_t (&left)[2], std::uint32_t (&right)[2], const unsigned char* tile,
                                                  int row, int chunk) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  std::uint32_t r[4];
  ptx::ldmatrix_transposed(r, tile + place<chunks>(row + lane % 16, chunk, lane / 16));
  left[0] = r[0], left[1] = r[1], right[0] = r[2], right[1] = r[3];
}

}  // namespace trireme::kernels::cuda
