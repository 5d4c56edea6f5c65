// 16-bit floating point, as bits: IEEE binary16 (fp16) and bfloat16 (bf16), to and from float.
#pragma once

#include <cstdint>

namespace trireme::base {

float from_fp16(std::uint16_t half);
float from_bf16(std::uint16_t half);
/// Rounded to nearest, ties to even; beyond the largest value infinity. A NaN stays one.
std::uint16_t to_fp16(float value);
std::uint16_t to_bf16(float value);

}  // namespace trireme::base
