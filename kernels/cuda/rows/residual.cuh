// What follows a row-parallel product, a piece at a time; by itself and before a layer norm.
#pragma once

#include <cstdint>

#include "kernels/cuda/instructions/numbers.cuh"
#include "kernels/cuda/rows/dropout.cuh"

namespace trireme::kernels::cuda {

template <class T>
struct Residual {
  const T *x, *bias, *residual;  // [n, h], null or [h], null or [n, h]
  int hidden;
  RowMasks masks;
};

/// residual + dropout(x + bias), rounded
template <bool aligned, class T>
__device__ __forceinline__ Piece<T> add_residual(const Residual<T>& p, unsigned row, int column) {
  constexpr int size = Piece<T>::size;
  const std::int64_t at = static_cast<std::int64_t>(row) * p.hidden;
  const Piece<T> x = fetch<aligned>(p.x + at, column, p.hidden);
  float sum[size], factors[size];
#pragma unroll
  for (int j = 0; j < size; ++j) sum[j] = to_float(x.element[j]);
  row_factors(p.masks, row, p.hidden, column, factors);
  if (p.bias != nullptr) {
    const Piece<T> bias = fetch<aligned>(p.bias, column, p.hidden);
#pragma unroll
    for (int j = 0; j < size; ++j) sum[j] += to_float(bias.element[j]);
  }
#pragma unroll
  for (int j = 0; j < size; ++j) sum[j] *= factors[j];
  if (p.residual != nullptr) {
    const Piece<T> residual = fetch<aligned>(p.residual + at, column, p.hidden);
#pragma unroll
    for (int j = 0; j < size; ++j) sum[j] += to_float(residual.element[j]);
  }
  Piece<T> y;
#pragma unroll
  for (int j = 0; j < size; ++j) y.element[j] = from_float<T>(sum[j]);
  return y;
}

}  // namespace trireme::kernels::cuda
