// Views over host objects, for tests on devices whose memory is the host's.
#pragma once

#include <type_traits>
#include <vector>

#include "kernels/device.h"

namespace trireme::test {

template <class T>
constexpr kernels::DType dtype_of() {
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
