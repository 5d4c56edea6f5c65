// How the CPU kernels become vector code without a flag for one processor: a *range function* is a plain function over contiguous
// floats, compiled once for each level of x86-64 and chosen when the program starts. OpenMP stands in its caller, since the
// compiler does not clone outlined parallel regions. No -ffast-math anywhere: what may be reordered says so by `omp simd`.
#pragma once

#include <bit>
#include <cstdint>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(TRIREME_NO_CLONES)
#define TRIREME_RANGE_FUNCTION __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TRIREME_RANGE_FUNCTION
#endif
// A helper must be inlined to be cloned with the range function that calls it.
#define TRIREME_INLINE inline __attribute__((always_inline))

namespace trireme::kernels {

/// exp(x) within 2 ulp; 0 below -87, infinity where e^x is above the largest float, NaN for NaN. x = n ln 2 + r with
/// |r| <= ln(2)/2, e^r by its series up to r^7/7! (the next term is 0.05 ulp), then times 2^n.
TRIREME_INLINE float exponential(float x) {
  constexpr float log2_e = 1.44269504088896341f;
  constexpr float ln2_high = 0x1.63p-1f, ln2_low = -0x1.bd0106p-13f;  // the first has 9 bits, so n * ln2_high is exact
  constexpr float integer_shift = 0x1.8p23f;                          // adding it leaves the rounded integer in the low bits
  x = x < -87.2f ? -87.2f : x;                                        // there n = -126, and the scale below is 0
  x = x > 89.4f ? 89.4f : x;                                          // there n = 129, and the scale below is infinity
  const float shifted = x * log2_e + integer_shift;
  const float n = shifted - integer_shift;
  const float r = (x - n * ln2_high) - n * ln2_low;
  float series = 1.0f / 5040;
  series = series * r + 1.0f / 720;
  series = series * r + 1.0f / 120;
  series = series * r + 1.0f / 24;
  series = series * r + 1.0f / 6;
  series = series * r + 0.5f;
  series = series * (r * r) + r;
  const float power = std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) << 23) + (126u << 23));  // 2^(n-1)
  return (series + 1.0f) * 2.0f * power;
}

/// 1 / (1 + e^-z)
TRIREME_INLINE float logistic(float z) { return 1.0f / (1.0f + exponential(-z)); }

}  // namespace trireme::kernels
