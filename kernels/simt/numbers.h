// bf16 and fp16 under CUDA's names. Conversions round to nearest, ties to even; overflow becomes infinity, NaN stays NaN.
#pragma once

#include <bit>
#include <cstdint>

namespace trireme::simt {

constexpr float bf16_to_float(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

constexpr std::uint16_t float_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

constexpr float fp16_to_float(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31, fraction = bits & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent > 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;  // zero or subnormal
  return sign != 0 ? -magnitude : magnitude;
}

constexpr std::uint16_t float_to_fp16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return 0x7fff;
  if (magnitude >= 0x477ff000) return static_cast<std::uint16_t>(sign | 0x7c00);  // 65520 and more: infinity
  std::uint32_t result;
  if (magnitude >= 0x38800000) {  // 2^-14: normal
    result = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
  } else {  // in units of 2^-24, rounded by the addition of 2^23 ulps of them
    const float shifted = std::bit_cast<float>(magnitude) * 0x1p24f + 0x1p23f;
    result = std::bit_cast<std::uint32_t>(shifted) - 0x4b000000;
  }
  return static_cast<std::uint16_t>(sign | result);
}

}  // namespace trireme::simt

struct __nv_bfloat16 {
  std::uint16_t bits;
};
struct __half {
  std::uint16_t bits;
};

constexpr float __bfloat162float(__nv_bfloat16 x) { return trireme::simt::bf16_to_float(x.bits); }
constexpr __nv_bfloat16 __float2bfloat16_rn(float x) { return {trireme::simt::float_to_bf16(x)}; }
constexpr float __half2float(__half x) { return trireme::simt::fp16_to_float(x.bits); }
constexpr __half __float2half_rn(float x) { return {trireme::simt::float_to_fp16(x)}; }
