// What the tests of kernels on elements of 2 bytes share.
//
// Their bounds: operands are exact in the type, all arithmetic is in fp32, and each result is rounded once. So it is off by u of
// itself, u being half a unit in the last place, and by what fp32 does to it; where a number of the type stands between two
// roundings the test says so.
#pragma once

#include "base/half.h"
#include "validation/unit/kernels/fixture.h"
#include "validation/unit/kernels/reference_kernels.h"

namespace trireme::kernels {

inline float from_half(DType type, std::uint16_t bits) {
  return type == DType::bf16 ? base::from_bf16(bits) : base::from_fp16(bits);
}
inline std::uint16_t to_half(DType type, double value) {
  const auto x = static_cast<float>(value);
  return type == DType::bf16 ? base::to_bf16(x) : base::to_fp16(x);
}

/// u: 8 significant bits in bf16, 11 in fp16.
constexpr double half_rounding(DType type) { return type == DType::bf16 ? 0x1p-8 : 0x1p-11; }
/// Half of the distance between the smallest numbers of fp16; those of bf16 are as small as fp32's.
constexpr double smallest_step(DType type) { return type == DType::bf16 ? 0 : 0x1p-25; }

/// Elements of a type of 2 bytes, with a guard on both sides that no kernel may change.
class Half {
 public:
  Half(DType type, const Reals& values) : type_(type), memory_(values.size() + 2 * margin, guard) {
    for (std::size_t i = 0; i < values.size(); ++i) memory_[margin + i] = to_half(type, values[i]);
  }
  Half(DType type, std::int64_t count) : Half(type, Reals(static_cast<std::size_t>(count), std::nan(""))) {}
  Half(const Half&) = delete;
  Half& operator=(const Half&) = delete;
  ~Half() {
    for (std::size_t i = 0; i < margin; ++i)
      EXPECT_TRUE(memory_[i] == guard && memory_[memory_.size() - 1 - i] == guard) << "written outside a buffer";
  }
  operator View() { return {memory_.data() + margin, static_cast<std::int64_t>(memory_.size() - 2 * margin), type_}; }
  DType type() const { return type_; }
  Reals reals() const {
    Reals values;
    for (std::size_t i = margin; i < memory_.size() - margin; ++i) values.push_back(from_half(type_, memory_[i]));
    return values;
  }

 private:
  static constexpr std::size_t margin = 17;  // so that elements begin at no multiple of 4 bytes
  static constexpr std::uint16_t guard = 0x1234;
  DType type_;
  std::vector<std::uint16_t> memory_;
};

/// The values as the type holds them.
inline Reals rounded(DType type, Reals values) {
  for (double& value : values) value = from_half(type, to_half(type, value));
  return values;
}
inline Reals random_halves(DType type, std::uint64_t stream, std::int64_t n, double scale = 1) {
  return rounded(type, random_values(stream, n, scale));
}

/// Each element within u of itself and `errors` of fp32 of the root mean square of all; `more`: what else an element may be off
/// by (empty: nothing).
inline void expect_rounded(const Half& actual, const Reals& expected, double errors, const char* what, const Reals& more = {}) {
  const Reals values = actual.reals();
  ASSERT_EQ(values.size(), expected.size()) << what;
  double squares = 0;
  for (const double e : expected) squares += e * e;
  const double typical = std::sqrt(squares / static_cast<double>(std::max<std::size_t>(expected.size(), 1)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double allowed = half_rounding(actual.type()) * std::abs(expected[i]) + smallest_step(actual.type()) +
                           errors * std::max(typical, std::abs(expected[i])) + (more.empty() ? 0 : more[i]);
    ASSERT_TRUE(std::abs(values[i] - expected[i]) <= allowed)
        << what << "[" << i << "] = " << values[i] << ", expected " << expected[i] << " within " << allowed;
  }
}

/// On one and on two threads, in bf16 and in fp16.
class HalfTest : public testing::TestWithParam<std::tuple<int, DType>> {
 protected:
  DType type = std::get<1>(GetParam());
  std::unique_ptr<Kernels> kernels =
      make_cpu_kernels({.threads = std::get<0>(GetParam()), .sequence = 256, .head_size = 64, .compute = type});
  Reals random(std::uint64_t stream, std::int64_t n, double scale = 1) const { return random_halves(type, stream, n, scale); }
};

inline std::string half_name(const testing::TestParamInfo<std::tuple<int, DType>>& info) {
  return (std::get<1>(info.param) == DType::bf16 ? "bf16On" : "fp16On") + std::to_string(std::get<0>(info.param)) + "Threads";
}

}  // namespace trireme::kernels

#define TRIREME_ON_BOTH_HALVES(fixture)                                                                                       \
  INSTANTIATE_TEST_SUITE_P(                                                                                                   \
      Cpu, fixture,                                                                                                           \
      testing::Combine(testing::Values(1, 2), testing::Values(trireme::kernels::DType::bf16, trireme::kernels::DType::fp16)), \
      trireme::kernels::half_name)
