// Tensors of a compute type for the tests of CUDA kernels, and their comparison with references in double.
#pragma once

#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "base/philox.h"
#include "kernels/cuda/target.h"
#include "kernels/cuda/views.h"
#include "kernels/simt/memory.h"

namespace trireme::simt {

using Reals = std::vector<double>;
using kernels::View;
using kernels::cuda::bf16;
using kernels::cuda::fp16;

/// What is given to it is done when the launcher returns.
constexpr kernels::cuda::Target null_stream{};

template <class T>
T rounded_to(double value) {
  const auto x = static_cast<float>(value);
  if constexpr (std::is_same_v<T, bf16>)
    return __float2bfloat16_rn(x);
  else if constexpr (std::is_same_v<T, fp16>)
    return __float2half_rn(x);
  else
    return x;
}
inline double real_of(float x) { return x; }
inline double real_of(bf16 x) { return __bfloat162float(x); }
inline double real_of(fp16 x) { return __half2float(x); }

/// Half a unit in the last place of a number near 1: the largest relative error of rounding to T
template <class T>
constexpr double rounding = std::is_same_v<T, bf16>   ? 0x1p-8
                            : std::is_same_v<T, fp16> ? 0x1p-11
                                                      : 0x1p-24;

/// Device memory of T, which ends at a guard
template <class T>
class Tensor {
 public:
  explicit Tensor(std::int64_t n) : buffer_(static_cast<std::size_t>(n)) {}
  explicit Tensor(const Reals& values) : buffer_(values.size()) {
    for (std::size_t i = 0; i < values.size(); ++i) buffer_[i] = rounded_to<T>(values[i]);
  }
  /// n values of N(mean, scale), other ones for every stream
  static Reals random(std::uint64_t stream, std::int64_t n, double scale = 1, double mean = 0) {
    Reals values;
    for (std::int64_t i = 0; i < n; ++i)
      values.push_back(real_of(rounded_to<T>(mean + scale * base::normal(stream, static_cast<std::uint64_t>(i)))));
    return values;
  }
  operator View() { return {buffer_.data(), static_cast<std::int64_t>(buffer_.size()), kernels::cuda::dtype_of<T>()}; }
  Reals reals() const {
    Reals values;
    for (std::size_t i = 0; i < buffer_.size(); ++i) values.push_back(real_of(buffer_[i]));
    return values;
  }
  std::uint64_t bytes() const { return buffer_.size() * sizeof(T); }
  Requested requested() const { return buffer_.requested(); }

 private:
  DeviceBuffer<T> buffer_;
};

/// Every element within a rounding to T of itself, and `errors` roundings of fp32 of the root mean square of all: errors of a
/// sum follow its terms, not its result.
template <class T>
bool close(const Tensor<T>& actual, const Reals& expected, double errors, const std::string& what, bool report = true) {
  const Reals values = actual.reals();
  double squares = 0;
  for (const double e : expected) squares += e * e;
  const double typical = std::sqrt(squares / static_cast<double>(expected.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double allowed = rounding<T> * std::abs(expected[i]) + errors * 0x1p-24 * (typical + std::abs(expected[i])) + 0x1p-25;
    if (std::abs(values[i] - expected[i]) <= allowed) continue;
    if (report) ADD_FAILURE() << what << '[' << i << "] is " << values[i] << ", expected " << expected[i] << " +- " << allowed;
    return false;
  }
  return true;
}

}  // namespace trireme::simt
