// 16-bit floating point, as bits: IEEE binary16 (fp16) and bfloat16 (bf16), to and from float. Without branches, so that loops
// over them become vector code.
#pragma once

#include <bit>
#include <cstdint>

// Inlined even into functions that are compiled for other instruction sets.
#define TRIREME_HALF [[gnu::always_inline]] constexpr

namespace trireme::base {

TRIREME_HALF float from_bf16(std::uint16_t half) { return std::bit_cast<float>(std::uint32_t{half} << 16); }

TRIREME_HALF float from_fp16(std::uint16_t half) {
  constexpr std::uint32_t bias = 112U << 23;  // from an exponent of 5 bits to one of 8
  const std::uint32_t sign = (half & 0x8000U) << 16, magnitude = half & 0x7fffU;
  const std::uint32_t normal = (magnitude << 13) + (magnitude < 0x7c00 ? bias : 2 * bias);  // infinity and NaN keep all ones
  const auto subnormal = std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f);
  return std::bit_cast<float>((magnitude < 0x400 ? subnormal : normal) | sign);
}

/// Rounded to nearest, ties to even; beyond the largest value infinity. A NaN stays one.
TRIREME_HALF std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, quiet = bits >> 16 | 0x40;
  return static_cast<std::uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
}

/// Likewise.
TRIREME_HALF std::uint16_t to_fp16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  const std::uint32_t normal = ((magnitude + 0xfff + (magnitude >> 13 & 1)) >> 13) - (112U << 10);
  // Below 2^-14 in units of 2^-24: the addition rounds to them, since they are the last place of 0.5.
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000;
  const std::uint32_t quiet = 0x7e00 | (magnitude >> 13 & 0x3ff);
  std::uint32_t half = magnitude < 0x38800000 ? subnormal : normal;
  half = magnitude >= 0x477ff000 ? 0x7c00 : half;  // 65520, halfway from the largest to the next power of two
  half = magnitude > 0x7f800000 ? quiet : half;
  return static_cast<std::uint16_t>(half | sign);
}

}  // namespace trireme::base

#undef TRIREME_HALF
