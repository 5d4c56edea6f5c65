// The dropout masks that kernels.h defines: Philox4x32-10 (Salmon et al., SC'11), the bits of base/philox.h.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/cuda/instructions/ptx.cuh"
#include "kernels/cuda/views.h"
#include "kernels/kernels.h"

namespace trireme::kernels::cuda {

struct DropoutMask {
  std::uint64_t key, first_sample;
  std::uint32_t threshold;  // a word below it drops; 0: nothing is dropped
  float scale;              // 1 / (1 - rate)
};

inline DropoutMask mask_of(const Dropout& dropout) {
  const double rate = dropout.rate;
  return {dropout.key, dropout.first_sample, static_cast<std::uint32_t>(std::ceil(rate * 0x1p32)),
          static_cast<float>(1 / (1 - rate))};
}

/// factors [4] of elements 4 group .. 4 group + 3 of the microbatch's `sample`
__device__ __forceinline__ void dropout_factors(const DropoutMask& mask, std::uint64_t sample, std::uint64_t group,
                                                float (&factors)[4]) {
  const std::uint64_t high = mask.first_sample + sample;
  auto c0 = static_cast<std::uint32_t>(group), c1 = static_cast<std::uint32_t>(group >> 32);
  auto c2 = static_cast<std::uint32_t>(high), c3 = static_cast<std::uint32_t>(high >> 32);
  auto k0 = static_cast<std::uint32_t>(mask.key), k1 = static_cast<std::uint32_t>(mask.key >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const std::uint32_t high0 = __umulhi(0xD2511F53u, c0), high1 = __umulhi(0xCD9E8D57u, c2);
    const std::uint32_t low0 = 0xD2511F53u * c0, low1 = 0xCD9E8D57u * c2;
    c0 = high1 ^ c1 ^ k0;
    c2 = high0 ^ c3 ^ k1;
    c1 = low1;
    c3 = low0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  const float scale = mask.scale;
  factors[0] = c0 >= mask.threshold ? scale : 0.0f;
  factors[1] = c1 >= mask.threshold ? scale : 0.0f;
  factors[2] = c2 >= mask.threshold ? scale : 0.0f;
  factors[3] = c3 >= mask.threshold ? scale : 0.0f;
}

/// The masks of the rows of a [s, b, h] activation
struct RowMasks {
  DropoutMask mask;
  std::int64_t first;  // position of row 0
  unsigned batch;
};

inline RowMasks masks_of(const Rows& rows, const Dropout& dropout) {
  return {mask_of(dropout), rows.first, static_cast<unsigned>(narrow(rows.batch))};
}

/// factors of columns column, column + 1 ... of a row of `columns`; column is a multiple of 4
template <int size>
__device__ __forceinline__ void row_factors(const RowMasks& masks, unsigned row, int columns, int column,
                                            float (&factors)[size]) {
  const std::int64_t groups = (columns + 3) / 4, position = masks.first + row / masks.batch;
  const unsigned sample = row % masks.batch;
#pragma unroll
  for (int j = 0; j < size; j += 4) {
    float four[4] = {1, 1, 1, 1};
    const int group = (column + j) / 4;
    if (masks.mask.threshold > 0)
      dropout_factors(masks.mask, sample, static_cast<std::uint64_t>(position * groups + group), four);
#pragma unroll
    for (int k = 0; k < 4; ++k) factors[j + k] = four[k];
  }
}

}  // namespace trireme::kernels::cuda
