// Attention's backward pass in CUDA in the simulator. Oracle: plain loops in double on the same rounded inputs, themselves held
// against central differences. Tolerance: what rounding P and dS costs, from the sizes of the terms.
#include <algorithm>

#include "validation/unit/simt/fixture.h"
#include "validation/unit/simt/kernels/attention_backward_cases.h"

namespace trireme::simt {
namespace {

using SimtAttentionBackward = SimtTest;
TRIREME_IN_EVERY_ORDER(SimtAttentionBackward);

// A tile less one; one more than a tile; two tiles and a bit; one position. Head sizes; several heads and samples; heads of
// other ranks before.
constexpr AttentionShape shapes[] = {{{63, 1, 0}, 2, 80, 3}, {{65, 2, 0}, 1, 96, 0},  {{130, 1, 0}, 1, 64, 5},
                                     {{1, 1, 0}, 1, 64, 0},  {{65, 1, 0}, 1, 128, 1}, {{17, 3, 0}, 2, 128, 2}};

template <class T>
void every_shape(float rate) {
  for (const AttentionShape& shape : chosen(shapes))
    EXPECT_TRUE(attention_backward_is_right<T>(shape, rate)) << shape.rows.sequence << ' ' << shape.head_size;
}
TEST_P(SimtAttentionBackward, Bf16) { every_shape<bf16>(0); }
TEST_P(SimtAttentionBackward, Fp16) { every_shape<fp16>(0); }
TEST_P(SimtAttentionBackward, Bf16WithDropout) { every_shape<bf16>(0.2f); }
TEST_P(SimtAttentionBackward, Fp16WithDropout) { every_shape<fp16>(0.9f); }
TEST_P(SimtAttentionBackward, Fp32) {
  for (const AttentionShape& shape :
       {AttentionShape{{1, 2, 0}, 1, 1, 0}, {{17, 2, 0}, 2, 33, 1}, {{65, 1, 0}, 1, 64, 3}, {{34, 1, 0}, 1, 256, 0}})
    for (const float rate : {0.0f, 0.3f})
      EXPECT_TRUE(attention_backward_is_right<float>(shape, rate)) << shape.rows.sequence << ' ' << shape.head_size;
}

// Scores up to 10^4 in a sequence: queries that see one key only, by far; and all keys alike.
template <class T>
void extremes(AttentionShape shape) {
  const std::int64_t d = shape.head_size;
  Reals qkv = Tensor<T>::random(1, qkv_elements(shape));
  const double size = std::sqrt(1e4 / std::sqrt(static_cast<double>(d)));
  for (std::size_t i = 0; i < qkv.size(); ++i)
    if (i / static_cast<std::size_t>(d) % 3 < 2) qkv[i] = real_of(rounded_to<T>(qkv[i] * size));
  EXPECT_TRUE(attention_backward_is_right<T>(shape, 0, qkv)) << "scores of 1e4";
  for (std::size_t i = 0; i < qkv.size(); ++i)
    if (i / static_cast<std::size_t>(d) % 3 == 1) qkv[i] = 4;
  EXPECT_TRUE(attention_backward_is_right<T>(shape, 0.1f, qkv)) << "keys alike";
}
TEST_P(SimtAttentionBackward, ExtremeScores) {
  extremes<bf16>({{70, 1, 0}, 1, 64, 0});
  extremes<fp16>({{70, 1, 0}, 1, 64, 0});
  extremes<float>({{20, 1, 0}, 1, 64, 0});
}

TEST_P(SimtAttentionBackward, DeterministicWhateverTheOrder) {
  const AttentionShape shape{{70, 2, 0}, 2, 64, 0};
  AttentionCase<bf16> here(shape, 0.2f, Tensor<bf16>::random(1, qkv_elements(shape)));
  here.run();
  const Reals once = here.dqkv.reals();
  options().order = Order::ascending;
  here.run();
  EXPECT_EQ(once, here.dqkv.reals());
}

TEST_P(SimtAttentionBackward, RefusesOtherHeadsAndPlaces) {
  const auto run = [](AttentionShape shape, auto zero) {
    AttentionCase<decltype(zero)> test(shape, 0, Reals(static_cast<std::size_t>(qkv_elements(shape))));
    test.run();
  };
  EXPECT_THROW(run({{1, 1, 0}, 1, 72, 0}, bf16{}), std::invalid_argument);
  EXPECT_THROW(run({{1, 1, 0}, 1, 257, 0}, 0.0f), std::invalid_argument);
  Tensor<bf16> memory(4 * 64);
  Tensor<float> row(1);
  const View all = memory, qkv = {static_cast<bf16*>(all.data) + 1, 3 * 64, all.type};
  EXPECT_THROW(
      kernels::cuda::attention_backward(
          {.shape = {{1, 1, 0}, 1, 64, 0}, .dout = all, .qkv = qkv, .out = all, .log_sum = row, .dqkv = all}, row, null_stream),
      std::invalid_argument);
  EXPECT_EQ(counters().launches, 0u);
}

/// Median over the elements of the distance from `exact`, in units in the last place of T at `exact`
template <class T>
double median_error(const Reals& actual, const Reals& exact) {
  Reals errors;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double unit = 2 * rounding<T> * std::exp2(std::floor(std::log2(std::abs(exact[i]))));
    if (exact[i] != 0) errors.push_back(std::abs(actual[i] - exact[i]) / unit);
  }
  std::nth_element(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2), errors.end());
  return errors[errors.size() / 2];
}

// Exact: from the rounded qkv and dout, nothing else rounded; the kernel is given out rounded to T.
TEST(SimtAttentionBackwardAccuracy, Bf16WithinTwoUnitsInTheMedian) {
  options() = {};
  for (const std::int64_t head_size : {64, 128}) {
    const AttentionShape shape{{192, 1, 0}, 1, head_size, 0};
    AttentionCase<bf16> test(shape, 0, Tensor<bf16>::random(1, qkv_elements(shape)));
    test.run();
    const auto forward = reference::attention(shape, test.qkv_values, test.dropout);
    const Reals exact =
        attention_gradients<bf16>(shape, test.qkv_values, test.dout_values, forward.out, forward.log_sum, test.dropout).dqkv;
    const double median = median_error<bf16>(test.dqkv.reals(), exact);
    RecordProperty("median_" + std::to_string(head_size), std::to_string(median));
    EXPECT_LT(median, 0.5 + 2) << head_size;
  }
}

template <class T>
void expect_declared_bytes(const AttentionShape& shape) {
  AttentionCase<T> test(shape, 0, Tensor<T>::random(1, qkv_elements(shape)));
  counters() = {};
  test.run();
  const double declared = kernels::cuda::attention_backward_cost(shape, sizeof(T)).bytes;
  EXPECT_NEAR(static_cast<double>(counters().moved_read + counters().moved_written) / declared, 1, 0.1) << shape.head_size;
}

TEST(SimtAttentionBackwardCost, BytesFlopsAndBanks) {
  options() = {};
  options().count = true;
  for (const std::int64_t head_size : {64, 80, 96, 128}) {
    const AttentionShape shape{{192, 1, 0}, 2, head_size, 0};
    expect_declared_bytes<bf16>(shape);
    EXPECT_EQ(counters().bank_conflicts, 0u) << head_size;
    // 16 positions meet 32 others where any pair of them is visible: as many of keys by queries as of queries by keys
    double pairs = 0;
    for (int block = 0; block < 12; ++block) pairs += 2 * 16 * (block / 2 + 1) * 32;
    const double flops = kernels::cuda::attention_backward_cost(shape, 2).flops;
    EXPECT_EQ(static_cast<double>(counters().matrix_products) * 2 * 16 * 8 * 16,
              flops * pairs / kernels::cost::visible_pairs(shape))
        << head_size;
  }
  expect_declared_bytes<float>({{48, 1, 0}, 2, 40, 0});
  options() = {};
}

TEST(SimtAttentionBackwardReference, GradientsAreThoseOfDifferences) {
  const AttentionShape shape{{5, 2, 0}, 2, 3, 1};
  const Dropout dropout{0.3f, 77, 5};
  Reals qkv = Tensor<float>::random(1, qkv_elements(shape));
  const Reals dout = Tensor<float>::random(2, qkv_elements(shape) / 3);
  const auto loss = [&] {
    const Reals out = reference::attention(shape, qkv, dropout).out;
    double sum = 0;
    for (std::size_t i = 0; i < out.size(); ++i) sum += dout[i] * out[i];
    return sum;
  };
  const auto forward = reference::attention(shape, qkv, dropout);
  const Reals gradient = attention_gradients<float>(shape, qkv, dout, forward.out, forward.log_sum, dropout).dqkv;
  for (std::size_t i = 0; i < qkv.size(); ++i) {
    const double kept = qkv[i], step = 1e-5;
    qkv[i] = kept + step;
    const double above = loss();
    qkv[i] = kept - step;
    EXPECT_NEAR((above - loss()) / (2 * step), gradient[i], 1e-7);  // step^2 and double's rounding / step
    qkv[i] = kept;
  }
}

}  // namespace
}  // namespace trireme::simt
