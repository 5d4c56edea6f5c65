// Attention's CUDA kernels, forward, in the simulator. Oracle: plain loops in double on the same rounded inputs. Tolerance:
// stands in attention_cases.h.
#include "kernels/cost.h"
#include "kernels/cuda/attention/attention_backward.h"
#include "validation/unit/simt/fixture.h"
#include "validation/unit/simt/kernels/attention_cases.h"

namespace trireme::simt {
namespace {

using SimtAttention = SimtTest;
TRIREME_IN_EVERY_ORDER(SimtAttention);

// A whole tile; several, with a ragged end; one row more and one less; one position; several heads and samples.
template <class T>
void every_shape() {
  for (const std::int64_t size : {64, 80, 96, 128}) EXPECT_TRUE(attention_is_right<T>({{65, 1, 0}, 1, size, 0}, 0)) << size;
  for (const std::int64_t s : {1, 2, 63, 64, 200}) EXPECT_TRUE(attention_is_right<T>({{s, 1, 0}, 1, 64, 0}, 0)) << s;
  EXPECT_TRUE(attention_is_right<T>({{70, 2, 0}, 3, 80, 3}, 0));
}
TEST_P(SimtAttention, Bf16) { every_shape<bf16>(); }
TEST_P(SimtAttention, Fp16) { every_shape<fp16>(); }
TEST_P(SimtAttention, Fp32) {
  every_shape<float>();
  for (const std::int64_t size : {1, 6, 33, 129, 256})
    EXPECT_TRUE(attention_is_right<float>({{40, 1, 0}, 1, size, 0}, 0)) << size;
}

TEST_P(SimtAttention, Dropout) {
  for (const std::int64_t size : {64, 80, 96, 128}) EXPECT_TRUE(attention_is_right<bf16>({{66, 1, 0}, 1, size, 5}, 0.1f)) << size;
  const AttentionShape several{{77, 2, 0}, 2, 64, 3};
  EXPECT_TRUE(attention_is_right<bf16>(several, 0.9f));
  EXPECT_TRUE(attention_is_right<fp16>(several, 0.1f));
  EXPECT_TRUE(attention_is_right<float>(several, 0.1f));
}

/// Queries (query, 1, 0, 0 ...) and keys (key(position), small(position), 0, 0 ...): scores (query key + small) / 8, exact in
/// fp32
template <class T>
bool with_keys(
    double query, double (*key)(std::int64_t), double (*small)(std::int64_t) = [](std::int64_t) { return 0.0; }) {
  const AttentionShape shape{{130, 1, 0}, 1, 64, 0};
  Reals values = Tensor<T>::random(1, 3 * out_count(shape));
  for (std::int64_t i = 0; i < 130; ++i)
    for (std::int64_t c = 0; c < 64; ++c) {
      values[qkv_place(shape, i, 0, c)] = c == 0 ? query : c == 1 ? 1 : 0;
      values[qkv_place(shape, i, 1, c)] = c == 0 ? key(i) : c == 1 ? small(i) : 0;
    }
  return attention_is_right<T>(shape, {}, values, true);
}
template <class T>
void extreme() {
  constexpr auto large = [](std::int64_t) { return 312.0; };
  EXPECT_TRUE(with_keys<T>(0, large)) << "all equal: the mean of the values so far";
  EXPECT_TRUE(with_keys<T>(256, large)) << "all 9984";
  EXPECT_TRUE(with_keys<T>(-256, large)) << "all -9984";
  EXPECT_TRUE(with_keys<T>(256, [](auto i) { return i % 2 == 0 ? 312.0 : -312.0; })) << "9984 and -9984";
  EXPECT_TRUE(with_keys<T>(256, [](auto i) { return i == 70 ? 312.0 : 0.0; })) << "one-hot from row 70 on";
  EXPECT_TRUE(with_keys<T>(256, [](auto i) { return i == 0 ? 312.0 : 0.0; })) << "one-hot, the first key";
  EXPECT_TRUE(with_keys<T>(16, [](auto i) { return static_cast<double>(i); })) << "a new maximum in every tile";
  EXPECT_TRUE(with_keys<T>(256, large, [](auto i) { return static_cast<double>(i % 8); })) << "9984 and up to 7/8 more";
}
TEST_P(SimtAttention, ExtremeScores) {
  extreme<bf16>();
  extreme<fp16>();
  extreme<float>();
  const AttentionShape shape{{70, 1, 0}, 1, 64, 0};  // and sums of many terms
  EXPECT_TRUE(attention_is_right<float>(shape, {}, Tensor<float>::random(1, 3 * out_count(shape), 35)));
}

TEST_P(SimtAttention, NoPositions) {  // a GPU takes no grid without blocks
  for (const kernels::DType type : {kernels::DType::bf16, kernels::DType::fp32}) {
    const View none{nullptr, 0, type};
    kernels::cuda::attention({{0, 2, 0}, 2, 64, 0}, none, {}, none, {}, null_stream);
    kernels::cuda::attention_backward(
        {.shape = {{0, 2, 0}, 2, 64, 0}, .dout = none, .qkv = none, .out = none, .log_sum = {}, .dqkv = none}, {}, null_stream);
  }
  EXPECT_EQ(counters().launches, 0u);
}

TEST_P(SimtAttention, RefusesOtherHeadsAndPlaces) {
  EXPECT_THROW(attention_is_right<bf16>({{1, 1, 0}, 1, 72, 0}, 0), std::invalid_argument);
  EXPECT_THROW(attention_is_right<float>({{1, 1, 0}, 1, 257, 0}, 0), std::invalid_argument);
  Tensor<bf16> qkv(3 * 64 + 1), out(64), other(65);
  Tensor<float> log_sum(1);
  const AttentionShape shape{{1, 1, 0}, 1, 64, 0};
  EXPECT_THROW(kernels::cuda::attention(shape, View(qkv).slice(1, 3 * 64), {}, out, log_sum, null_stream), std::invalid_argument);
  EXPECT_THROW(kernels::cuda::attention(shape, qkv, {}, View(other).slice(1, 64), log_sum, null_stream), std::invalid_argument);
  EXPECT_THROW(kernels::cuda::attention(shape, qkv, {}, View(out).slice(0, 63), log_sum, null_stream), std::logic_error);
}

// What cost.h declares, against the sectors counted and the products made: of the causal half, and of whole tiles on the
// diagonal. Several samples and heads, so that rows are far apart.
template <class T>
void expect_declared_cost(std::int64_t size, float rate) {
  options() = {};
  options().count = true;
  counters() = {};
  const AttentionShape shape{{128, 2, 0}, 2, size, 0};
  Tensor<T> qkv(Tensor<T>::random(1, 3 * out_count(shape))), out(out_count(shape));
  Tensor<float> log_sum(128 * 2 * 2);
  kernels::cuda::attention(shape, qkv, {rate, 1, 0}, out, log_sum, null_stream);
  const auto declared = kernels::cost::attention(shape, sizeof(T));
  EXPECT_NEAR(static_cast<double>(counters().moved_read + counters().moved_written) / declared.bytes, 1, 0.1);
  EXPECT_EQ(out.requested().written, out.bytes());
  EXPECT_EQ(counters().bank_conflicts, 0u);
  if (sizeof(T) == 2) {
    EXPECT_EQ(counters().matrix_products, 2 * 2 * 3 * 2 * (4u * 8 * static_cast<unsigned>(size) / 16))
        << "3 of 4 pairs of tiles, two products";
  }
  options() = {};
}
TEST(SimtAttentionCost, BytesFlopsAndBanks) {
  for (const std::int64_t size : {64, 80, 96, 128}) expect_declared_cost<bf16>(size, 0);
  expect_declared_cost<fp16>(64, 0.1f);
  for (const std::int64_t size : {64, 96, 256}) expect_declared_cost<float>(size, 0.1f);
}

// The exact result is that of the rounded inputs, in double. An element's error beyond that of rounding it, in units of bf16's
// last place at its size.
TEST(SimtAttentionAccuracy, Bf16WithinTwoUnitsInTheMedian) {
  options() = {};
  const AttentionShape shape{{200, 1, 0}, 2, 64, 0};
  const Reals values = Tensor<bf16>::random(1, 3 * out_count(shape));
  Tensor<bf16> qkv(values), out(out_count(shape));
  Tensor<float> log_sum(400);
  kernels::cuda::attention(shape, qkv, {}, out, log_sum, null_stream);
  const Reals exact = kernels::reference::attention(shape, values, {}).out, actual = out.reals();
  Reals units;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double unit = std::exp2(std::floor(std::log2(std::abs(exact[i]))) - 7);
    units.push_back((std::abs(actual[i] - exact[i]) - std::abs(real_of(rounded_to<bf16>(exact[i])) - exact[i])) / unit);
  }
  const auto middle = units.begin() + static_cast<std::ptrdiff_t>(units.size() / 2);
  std::nth_element(units.begin(), middle, units.end());
  RecordProperty("median_units", std::to_string(*middle));
  EXPECT_LE(*middle, 2);
}

}  // namespace
}  // namespace trireme::simt
