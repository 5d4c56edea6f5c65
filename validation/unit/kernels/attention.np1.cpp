// Oracle: plain loops in double, and their central differences for the backward pass.
#include "validation/unit/kernels/fixture.h"
#include "validation/unit/kernels/reference_kernels.h"

namespace trireme::kernels {
namespace {

using Attention = KernelsTest;
TRIREME_ON_ONE_AND_TWO_THREADS(Attention);

/// Products over head_size, an exponential, a sum over s and a second product, each a few roundings of the typical size.
constexpr double attention_tolerance = 32 * fp32_epsilon;

std::int64_t count(const AttentionShape& shape) { return shape.rows.count() * shape.heads * shape.head_size; }

TEST_P(Attention, HandComputed) {
  // One head of size 1, three positions; q = 0: the mean of the values so far. Values 3, 5, 10.
  Buffer qkv({0, 1, 3, 0, 2, 5, 0, 3, 10}), out(3), log_sum(3);
  kernels->attention({{3, 1}, 1, 1, 0}, qkv, {}, out, log_sum);
  EXPECT_FLOAT_EQ(out[0], 3);
  EXPECT_FLOAT_EQ(out[1], 4);
  EXPECT_FLOAT_EQ(out[2], 6);
  EXPECT_FLOAT_EQ(log_sum[0], 0);
  EXPECT_FLOAT_EQ(log_sum[2], std::log(3.0f));
}

TEST_P(Attention, Forward) {
  for (const AttentionShape& shape :
       {AttentionShape{{1, 1}, 1, 1, 0}, {{33, 2}, 3, 16, 3}, {{65, 3}, 1, 5, 0}, {{200, 1}, 2, 64, 6}})
    for (const float rate : {0.0f, 0.3f}) {
      const Dropout dropout{rate, 5, 17};
      const Reals values = random_values(1, 3 * count(shape));
      Buffer qkv(values), out(count(shape)), log_sum(shape.rows.count() * shape.heads);
      kernels->attention(shape, qkv, dropout, out, log_sum);
      const auto expected = reference::attention(shape, values, dropout);
      expect_close(out, expected.out, attention_tolerance, "out");
      expect_close(log_sum, expected.log_sum, attention_tolerance, "log_sum");
    }
}

// Scores of several hundred: without the maximum subtracted the exponentials would overflow.
TEST_P(Attention, LargeScores) {
  const AttentionShape shape{{70, 1}, 1, 4, 0};
  const Reals values = random_values(2, 3 * count(shape), 20);
  Buffer qkv(values), out(count(shape)), log_sum(70);
  kernels->attention(shape, qkv, {}, out, log_sum);
  // A score of 1000 is rounded by 6e-5, and its probability by as much.
  expect_close(out, reference::attention(shape, values, {}).out, 1e-3, "out");
}

TEST_P(Attention, Backward) {
  for (const AttentionShape& shape :
       {AttentionShape{{1, 1}, 1, 3, 0}, {{33, 1}, 2, 3, 1}, {{65, 2}, 1, 1, 0}, {{130, 1}, 1, 1, 2}})
    for (const float rate : {0.0f, 0.3f}) {
      const Dropout dropout{rate, 6, 1ull << 33};
      const Reals values = random_values(3, 3 * count(shape)), dy = random_values(4, count(shape));
      const auto forward = reference::attention(shape, values, dropout);
      Buffer dout(dy), qkv(values), out(forward.out), log_sum(forward.log_sum), dqkv(3 * count(shape));
      kernels->attention_backward(
          {.shape = shape, .dout = dout, .qkv = qkv, .out = out, .log_sum = log_sum, .dropout = dropout, .dqkv = dqkv});
      const auto of = [&](const Reals& v) { return reference::attention(shape, v, dropout).out; };
      expect_close(dqkv, difference_gradient(of, values, dy), attention_tolerance, "dqkv");
    }
}

TEST_P(Attention, RefusesMoreThanItsScratch) {
  const AttentionShape shape{{257, 1}, 1, 1, 0};
  Buffer qkv(3 * 257), out(257), log_sum(257);
  EXPECT_THROW(kernels->attention(shape, qkv, {}, out, log_sum), std::logic_error);
}

}  // namespace
}  // namespace trireme::kernels
