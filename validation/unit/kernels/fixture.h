// What the tests of the kernels share: values, buffers at any alignment, comparison with a reference in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/philox.h"
#include "kernels/kernels.h"

namespace trireme::kernels {

using Reals = std::vector<double>;

/// The unit of the tolerances: a rounding of fp32 is at most half of it.
constexpr double fp32_epsilon = 0x1p-23;

/// n values of N(0, scale), other ones for every stream, all of them floats
inline Reals random_values(std::uint64_t stream, std::int64_t n, double scale = 1) {
  Reals values;
  for (std::int64_t i = 0; i < n; ++i)
    values.push_back(static_cast<float>(scale * base::normal(stream, static_cast<std::uint64_t>(i))));
  return values;
}

inline std::vector<std::int32_t> random_tokens(std::uint64_t stream, std::int64_t n, std::uint32_t vocabulary) {
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < n; ++i)
    tokens.push_back(static_cast<std::int32_t>(base::philox(stream, 0, static_cast<std::uint64_t>(i))[0] % vocabulary));
  return tokens;
}

/// Floats that start `offset` elements after an aligned address, with a guard on both sides that no kernel may change.
class Buffer {
 public:
  explicit Buffer(std::int64_t n, double value = std::nan(""), std::int64_t offset = 0)
      : Buffer(Reals(static_cast<std::size_t>(n), value), offset) {}
  explicit Buffer(std::initializer_list<double> values) : Buffer(Reals(values)) {}
  explicit Buffer(const Reals& values, std::int64_t offset = 0)
      : offset_(margin + offset), count_(static_cast<std::int64_t>(values.size())) {
    memory_ = static_cast<float*>(std::aligned_alloc(64, static_cast<std::size_t>((count_ + 3 * margin) / 16 * 16 + 16) * 4));
    for (std::int64_t i = 0; i < margin; ++i) memory_[offset_ + count_ + i] = memory_[offset_ - 1 - i] = guard;
    for (std::int64_t i = 0; i < count_; ++i) memory_[offset_ + i] = static_cast<float>(values[static_cast<std::size_t>(i)]);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    for (std::int64_t i = 0; i < margin; ++i)
      EXPECT_TRUE(memory_[offset_ + count_ + i] == guard && memory_[offset_ - 1 - i] == guard) << "written outside a buffer";
    std::free(memory_);
  }
  operator View() const { return {memory_ + offset_, count_, DType::fp32}; }
  float operator[](std::int64_t i) const { return memory_[offset_ + i]; }
  std::vector<float> values() const { return {memory_ + offset_, memory_ + offset_ + count_}; }

 private:
  static constexpr std::int64_t margin = 16;
  static constexpr float guard = 12345.0f;
  std::int64_t offset_, count_;
  float* memory_;
};

/// Every element within tolerance times the largest of its own size, the root mean square of all and the given size of the
/// terms: rounding errors of a sum follow its terms, not its result.
inline void expect_close(const Buffer& actual, const Reals& expected, double tolerance, const char* what, double terms = 0) {
  const std::vector<float> values = actual.values();
  ASSERT_EQ(values.size(), expected.size()) << what;
  double squares = 0;
  for (const double e : expected) squares += e * e;
  const double typical = std::max(terms, std::sqrt(squares / static_cast<double>(std::max<std::size_t>(expected.size(), 1))));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double allowed = tolerance * std::max(std::abs(expected[i]), typical);
    ASSERT_TRUE(std::abs(values[i] - expected[i]) <= allowed)
        << what << "[" << i << "] = " << values[i] << ", expected " << expected[i] << " within " << allowed;
  }
}

/// Gradient with respect to x of the sum of dy * f(x), by central differences in double. The step of 1e-4 leaves an error of
/// about 1e-8 f''' against 1e-12 of rounding: below what fp32 resolves.
inline Reals difference_gradient(const std::function<Reals(const Reals&)>& f, Reals x, const Reals& dy) {
  constexpr double step = 1e-4;
  Reals gradient;
  for (double& element : x) {
    const double at = element;
    element = at + step;
    const Reals above = f(x);
    element = at - step;
    const Reals below = f(x);
    element = at;
    double sum = 0;
    for (std::size_t i = 0; i < dy.size(); ++i) sum += dy[i] * (above[i] - below[i]) / (2 * step);
    gradient.push_back(sum);
  }
  return gradient;
}

inline Reals sum_of(Reals x, const Reals& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  return x;
}

/// Tests of the kernels run on one and on two threads.
class KernelsTest : public testing::TestWithParam<int> {
 protected:
  std::unique_ptr<Kernels> kernels = make_cpu_kernels({.threads = GetParam(), .sequence = 256, .head_size = 64});
};

inline std::string threads_name(const testing::TestParamInfo<int>& info) { return std::to_string(info.param) + "threads"; }

}  // namespace trireme::kernels

#define TRIREME_ON_ONE_AND_TWO_THREADS(fixture) \
  INSTANTIATE_TEST_SUITE_P(Cpu, fixture, testing::Values(1, 2), trireme::kernels::threads_name)
