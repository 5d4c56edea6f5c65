// Numbers of the compute types, pieces of 16 bytes of them, and quads.
#pragma once

#include <cstdint>

#include "kernels/cuda/instructions/ptx.cuh"

namespace trireme::kernels::cuda {

__device__ __forceinline__ float to_float(float x) { return x; }
__device__ __forceinline__ float to_float(bf16 x) { return __bfloat162float(x); }
__device__ __forceinline__ float to_float(fp16 x) { return __half2float(x); }

template <class T>
__device__ __forceinline__ T from_float(float x) {
  if constexpr (std::is_same_v<T, bf16>)
    return __float2bfloat16_rn(x);
  else if constexpr (std::is_same_v<T, fp16>)
    return __float2half_rn(x);
  else
    return x;
}

/// What one 16-byte access moves
template <class T>
struct alignas(16) Piece {
  static constexpr int size = 16 / static_cast<int>(sizeof(T));
  T element[size];
};

/// Four neighbours: 16 bytes of fp32, 8 of what is beside it in bf16 or fp16
template <class T>
struct alignas(4 * sizeof(T)) Quad {
  T element[4];
};

/// Columns column .. column + size - 1 of a row of `columns`, 0 past its end. `aligned`: every row begins at a multiple of 16
/// bytes and has whole pieces.
template <bool aligned, class T>
__device__ __forceinline__ Piece<T> fetch(const T* row, int column, int columns) {
  if constexpr (aligned) {
    if (column < columns) return ptx::load<Piece<T>>(row + column);
  }
  Piece<T> piece;
#pragma unroll
  for (int j = 0; j < Piece<T>::size; ++j)
    piece.element[j] = !aligned && column + j < columns ? ptx::load<T>(row + column + j) : from_float<T>(0);
  return piece;
}

template <bool aligned, class T>
__device__ __forceinline__ void put(T* row, int column, int columns, const Piece<T>& piece) {
  if constexpr (aligned) {
    if (column < columns) ptx::store(row + column, piece);
  } else {
#pragma unroll
    for (int j = 0; j < Piece<T>::size; ++j)
      if (column + j < columns) ptx::store(row + column + j, piece.element[j]);
  }
}

/// Elements i .. i + 3 of n, 0 past the end. `aligned`: x begins at a multiple of a quad's bytes.
template <bool aligned, class T>
__device__ __forceinline__ Quad<T> fetch_quad(const T* x, std::int64_t i, std::int64_t n) {
  if constexpr (aligned) {
    if (i + 4 <= n) return ptx::load<Quad<T>>(x + i);
  }
  Quad<T> quad;
#pragma unroll
  for (int j = 0; j < 4; ++j) quad.element[j] = i + j < n ? ptx::load<T>(x + i + j) : from_float<T>(0);
  return quad;
}

template <bool aligned, class T>
__device__ __forceinline__ void put_quad(T* x, std::int64_t i, std::int64_t n, const Quad<T>& quad) {
  if (aligned && i + 4 <= n) {
    ptx::store(x + i, quad);
    return;
  }
#pragma unroll
  for (int j = 0; j < 4; ++j)
    if (i + j < n) ptx::store(x + i + j, quad.element[j]);
}

}  // namespace trireme::kernels::cuda
