#include "base/half.h"

#include <bit>
#include <cmath>

namespace trireme::base {

float from_fp16(std::uint16_t half) {
  const std::uint32_t exponent = half >> 10 & 31, mantissa = half & 1023;
  const float magnitude = exponent == 0    ? std::ldexp(static_cast<float>(mantissa), -24)
                          : exponent == 31 ? std::bit_cast<float>(0x7f800000U | mantissa << 13)
                                           : std::bit_cast<float>((exponent + 112) << 23 | mantissa << 13);
  return half & 0x8000 ? -magnitude : magnitude;
}

float from_bf16(std::uint16_t half) { return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16); }

std::uint16_t to_fp16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value), magnitude = bits & 0x7fffffff;
  std::uint32_t half;
  if (magnitude > 0x7f800000)
    half = 0x7e00 | (magnitude >> 13 & 0x3ff);
  else if (magnitude >= 0x477ff000)  // 65520, halfway from the largest to the next power of two
    half = 0x7c00;
  else if (magnitude < 0x38800000)  // below 2^-14: in units of 2^-24
    half = static_cast<std::uint32_t>(std::nearbyint(std::bit_cast<float>(magnitude) * 16777216.0f));
  else
    half = ((magnitude + 0xfff + (magnitude >> 13 & 1)) >> 13) - (112U << 10);
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000) | half);
}

std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace trireme::base
