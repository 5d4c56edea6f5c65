// Dropout alone and with what precedes it. The generator is Philox4x32-10 (Salmon et al., SC'11), written over groups of four
// elements so that it vectorises; its bits are those of base/philox.h.
#include "kernels/cpu/rows/dropout.h"

#include <cmath>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd.h"

namespace trireme::kernels {
namespace {

TRIREME_INLINE std::uint32_t high_half(std::uint64_t product) { return static_cast<std::uint32_t>(product >> 32); }

/// factors [4 groups] from the words of the counters (sample, first + group)
TRIREME_RANGE_FUNCTION
void kept_factors(std::uint64_t key, std::uint64_t sample, std::uint64_t first, std::int64_t groups, std::uint32_t threshold,
                  float scale, float* factors) {
#pragma omp simd
  for (std::int64_t group = 0; group < groups; ++group) {
    const std::uint64_t low = first + static_cast<std::uint64_t>(group);
    std::uint32_t c0 = static_cast<std::uint32_t>(low), c1 = static_cast<std::uint32_t>(low >> 32);
    std::uint32_t c2 = static_cast<std::uint32_t>(sample), c3 = static_cast<std::uint32_t>(sample >> 32);
    std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c0, p1 = std::uint64_t{0xCD9E8D57} * c2;
      c0 = high_half(p1) ^ c1 ^ k0;
      c2 = high_half(p0) ^ c3 ^ k1;
      c1 = static_cast<std::uint32_t>(p1);
      c3 = static_cast<std::uint32_t>(p0);
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    factors[4 * group] = c0 >= threshold ? scale : 0.0f;
    factors[4 * group + 1] = c1 >= threshold ? scale : 0.0f;
    factors[4 * group + 2] = c2 >= threshold ? scale : 0.0f;
    factors[4 * group + 3] = c3 >= threshold ? scale : 0.0f;
  }
}

}  // namespace

void dropout_factors(const Dropout& dropout, std::uint64_t sample, std::uint64_t first_group, std::int64_t groups,
                     float* factors) {
  const double rate = dropout.rate;
  const auto threshold = static_cast<std::uint32_t>(std::ceil(rate * 0x1p32));  // word >= rate 2^32, both being integers
  kept_factors(dropout.key, sample, first_group, groups, threshold, static_cast<float>(1 / (1 - rate)), factors);
}

void CpuKernels::bias_residual(const BiasResidual& op) {
  with_type(op.x.type, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = op.rows.count(), hidden = op.hidden;
    const T *x = elements<T>(op.x, n * hidden), *bias = elements<T>(op.bias, hidden);
    const T* residual = elements<T>(op.residual, n * hidden);
    T* y = elements<T>(op.y, n * hidden);
    parallel_ranges(limits_.threads, n, hidden, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        const std::int64_t at = row * hidden;
        bias_residual_row<T, T>(op.dropout, masked_row(op.rows, row, hidden), hidden, {x + at, bias, residual + at, y + at});
      }
    });
  });
}

void CpuKernels::bias_residual_backward(Rows rows, std::int64_t hidden, View dy, Dropout dropout_, View dx, View dbias) {
  dropout(rows, hidden, dy, dropout_, dx);
  with_type(dx.type, [&](auto zero) {
    using T = decltype(zero);
    column_sums(limits_.threads, rows.count(), hidden, elements<T>(dx, rows.count() * hidden), elements<float>(dbias, hidden));
  });
}

void CpuKernels::dropout(Rows rows, std::int64_t hidden, View x, Dropout dropout, View y) {
  const std::int64_t n = rows.count();
  with_type(x.type, [&](auto zero) {
    using T = decltype(zero);
    const T* from = elements<T>(x, n * hidden);
    T* to = elements<T>(y, n * hidden);
    if (dropout.rate == 0) {
      if (from != to) device_->copy(y.slice(0, n * hidden), x.slice(0, n * hidden));
      return;
    }
    parallel_ranges(limits_.threads, n, hidden, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        with_dropout(dropout, masked_row(rows, row, hidden), hidden,
                     [&](std::int64_t column, std::int64_t count, const float* factors) {
                       const std::int64_t at = row * hidden + column;
                       multiply_range(count, factors, from + at, to + at);
                     });
      }
    });
  });
}

}  // namespace trireme::kernels
