// Views over host objects, for tests on devices whose memory is the host's.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/half.h"
#include "kernels/device.h"

namespace trireme::test {

/// A number of 2 bytes, as tests hold it.
template <kernels::DType type>
struct Half {
  static constexpr bool brain = type == kernels::DType::bf16;
  Half() = default;
  explicit Half(double value)
      : bits(brain ? base::to_bf16(static_cast<float>(value)) : base::to_fp16(static_cast<float>(value))) {}
  explicit operator double() const { return static_cast<double>(brain ? base::from_bf16(bits) : base::from_fp16(bits)); }
  bool operator==(const Half&) const = default;
  std::uint16_t bits = 0;
};
using Bf16 = Half<kernels::DType::bf16>;
using Fp16 = Half<kernels::DType::fp16>;

template <class T>
constexpr kernels::DType dtype_of() {
  if (std::is_same_v<T, Bf16>) return kernels::DType::bf16;
  if (std::is_same_v<T, Fp16>) return kernels::DType::fp16;
  if (std::is_same_v<T, double>) return kernels::DType::fp64;
  if (std::is_same_v<T, std::int32_t>) return kernels::DType::int32;
  if (std::is_same_v<T, std::int64_t>) return kernels::DType::int64;
  return kernels::DType::fp32;
}

template <class T>
requires std::is_arithmetic_v<T> kernels::View view(T& number) { return {&number, 1, dtype_of<T>()}; }

template <class T>
kernels::View view(std::vector<T>& numbers) {
  return {numbers.data(), static_cast<std::int64_t>(numbers.size()), dtype_of<T>()};
}

}  // namespace trireme::test
