// What becomes of the sums of a product: bias, GELU, dropout, residual, accumulation. By four neighbours of a row, because one
// Philox call gives four factors, and by several rows at once, so that what is read is under way before it is needed.
#pragma once

#include "kernels/cuda/gemm/gelu.cuh"
#include "kernels/cuda/gemm/gemm.cuh"
#include "kernels/cuda/instructions/numbers.cuh"

namespace trireme::kernels::cuda {

/// Four neighbours, of which the first `count` exist; `wide`: in one access, and all exist
template <class T>
__device__ __forceinline__ void read_quad(const T* from, bool wide, int count, float (&v)[4]) {
  const Quad<T> quad = wide ? fetch_quad<true>(from, 0, 4) : fetch_quad<false>(from, 0, count);
#pragma unroll
  for (int j = 0; j < 4; ++j) v[j] = to_float(quad.element[j]);
}
template <class T>
__device__ __forceinline__ void write_quad(T* to, bool wide, int count, const float (&v)[4]) {
  const Quad<T> quad{{from_float<T>(v[0]), from_float<T>(v[1]), from_float<T>(v[2]), from_float<T>(v[3])}};
  if (wide)
    put_quad<true>(to, 0, 4, quad);
  else
    put_quad<false>(to, 0, count, quad);
}

/// sums v, with bias, of columns column .. column + 3 of a row; `before` is what the form reads there
template <class T>
__device__ __forceinline__ void finish_quad(const Epilogue<T>& p, int row, int column, float (&v)[4], float (&before)[4]) {
  const int count = p.columns - column;
  const std::int64_t at = static_cast<std::int64_t>(row) * p.columns + column;
  float factors[4];
  switch (p.form) {
    case Form::part:
      return write_quad(p.sums + static_cast<std::int64_t>(blockIdx.z) * p.rows * p.columns + at, p.wide, count, v);
    case Form::accumulate:
#pragma unroll
      for (int j = 0; j < 4; ++j) v[j] += before[j];
      return write_quad(p.sums + at, p.wide, count, v);
    case Form::gelu:
      write_quad(p.pre + at, p.wide, count, v);
#pragma unroll
      for (int j = 0; j < 4; ++j) v[j] = gelu(v[j]);
      break;
    case Form::residual:
      row_factors(p.masks, static_cast<unsigned>(row), p.columns, column, factors);
#pragma unroll
      for (int j = 0; j < 4; ++j) v[j] = factors[j] * v[j] + before[j];
      break;
    case Form::gelu_gradient:
#pragma unroll
      for (int j = 0; j < 4; ++j) v[j] *= gelu_derivative(before[j]);
      break;
    case Form::plain:
      break;
  }
  write_quad(p.y + at, p.wide, count, v);
}

/// Rows row, row + step, ... of four columns, whose sums are v
template <int count, class T>
__device__ __forceinline__ void finish(const Epilogue<T>& p, int row, int step, int column, float (&v)[count][4]) {
  if (column >= p.columns) return;
  const int columns = p.columns - column;
  float before[count][4] = {};
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const std::int64_t at = static_cast<std::int64_t>(row + i * step) * p.columns + column;
    if (row + i * step >= p.rows) continue;
    if (p.before != nullptr) read_quad(p.before + at, p.wide, columns, before[i]);
    if (p.form == Form::accumulate) read_quad(p.sums + at, p.wide, columns, before[i]);
  }
  float bias[4] = {};
  if (p.bias != nullptr) read_quad(p.bias + column, p.wide, columns, bias);
#pragma unroll
  for (int i = 0; i < count; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) v[i][j] += bias[j];
    if (row + i * step < p.rows) finish_quad(p, row + i * step, column, v[i], before[i]);
  }
}

}  // namespace trireme::kernels::cuda
