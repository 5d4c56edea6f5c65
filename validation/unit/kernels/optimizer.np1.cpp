// AdamW and reductions. Oracle: the formulas of Loshchilov and Hutter (2019), algorithm 2, in double; casts and decisions exact.
#include <cstring>
#include <limits>

#include "validation/unit/kernels/fixture.h"
#include "validation/unit/kernels/reference_kernels.h"
#include "validation/unit/support/views.h"

namespace trireme::kernels {
namespace {

using test::view;
using Optimizer = KernelsTest;
TRIREME_ON_ONE_AND_TWO_THREADS(Optimizer);

/// The cells of a StepOutcome
std::vector<double> record_of(double scale, bool skipped = false) { return {-1, -2, scale, skipped ? 1.0 : 0.0}; }

double result(const std::function<void(View)>& reduction) {
  double cell = std::nan("");
  reduction(view(cell));
  return cell;
}

TEST_P(Optimizer, AdamWHandComputed) {
  // First step: both corrections cancel the factors, so the update is the sign of the gradient.
  Buffer w({1, 1, 1}), g({4, -0.5, 0}), m(3, 0), v(3, 0);
  auto record = record_of(1);
  kernels->adamw({0.1f, 0.9f, 0.95f, 0, 0.5f, 0.1f, 0.05f, view(record)}, w, g, m, v, {});
  EXPECT_FLOAT_EQ(w[0], 0.85f);  // 1 - 0.1 * (1 + 0.5)
  EXPECT_FLOAT_EQ(w[1], 1.05f);
  EXPECT_TRUE(std::isnan(w[2])) << "0 / 0 without an epsilon";
  EXPECT_FLOAT_EQ(m[0], 0.4f);
  EXPECT_FLOAT_EQ(v[0], 0.8f);
}

TEST_P(Optimizer, AdamW) {
  for (const std::int64_t n : {1, 17, 40000}) {
    auto record = record_of(0.7);
    const AdamW step{3e-2f, 0.9f, 0.95f, 1e-8f, 0.1f, 0.271f, 0.142625f, view(record)};
    Reals w = random_values(1, n), g = random_values(2, n), m = random_values(3, n), v = random_values(4, n);
    for (double& x : v) x = x * x;
    Buffer weight(w), gradient(g), first(m), second(v), copy(n);
    kernels->adamw(step, weight, gradient, first, second, copy);
    EXPECT_EQ(copy.values(), weight.values());
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double scaled = g[i] * static_cast<double>(0.7f);
      m[i] = step.beta1 * m[i] + (1 - static_cast<double>(step.beta1)) * scaled;
      v[i] = step.beta2 * v[i] + (1 - static_cast<double>(step.beta2)) * scaled * scaled;
      const double update = m[i] / step.correction1 / (std::sqrt(v[i] / step.correction2) + step.epsilon);
      w[i] -= static_cast<double>(step.learning_rate) * (update + static_cast<double>(step.weight_decay) * w[i]);
    }
    expect_close(weight, w, 4 * fp32_epsilon, "weight");
    expect_close(first, m, 4 * fp32_epsilon, "first moment");
    expect_close(second, v, 4 * fp32_epsilon, "second moment");
  }
}

/// Oracle: from moments of 0 they become (1 - beta) g and (1 - beta) g^2, with 1 - beta as it was written.
TEST_P(Optimizer, AdamWWithDecaysNearOne) {
  for (const double rest : {1e-3, 1e-5, 1e-7, 3e-8}) {
    Buffer w({1, 1}), g({4, -0.5}), m(2, 0), v(2, 0);
    auto record = record_of(1);
    const auto correction = static_cast<float>(rest);
    kernels->adamw({0.1f, 1 - rest, 1 - rest, 1e-8f, 0, correction, correction, view(record)}, w, g, m, v, {});
    expect_close(m, {rest * 4, rest * -0.5}, 4 * fp32_epsilon, "first moment");
    expect_close(v, {rest * 16, rest * 0.25}, 4 * fp32_epsilon, "second moment");
    expect_close(w, {0.9, 1.1}, 4 * fp32_epsilon, "weight: the first step has the size of the learning rate");
  }
}

/// bf16 keeps the upper half of an fp32's bits
float widened(std::uint16_t bf16) {
  const std::uint32_t bits = std::uint32_t{bf16} << 16;
  float x = 0;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

TEST_P(Optimizer, AdamWWritesACopyInTheComputeType) {
  constexpr std::int64_t n = 20000;
  Buffer w(random_values(1, n)), g(random_values(2, n)), m(n, 0), v(n, 0);
  auto record = record_of(1);
  std::vector<std::uint16_t> copy(n);
  kernels->adamw({0.1f, 0.9f, 0.95f, 1e-8f, 0, 0.1f, 0.05f, view(record)}, w, g, m, v, {copy.data(), n, DType::bf16});
  for (std::int64_t i = 0; i < n; ++i)
    ASSERT_LE(std::abs(widened(copy[static_cast<std::size_t>(i)]) - w[i]), 0x1p-8 * std::abs(w[i])) << i;
}

TEST_P(Optimizer, AdamWChangesNothingWhereTheStepIsSkipped) {
  const Reals values = random_values(1, 100);
  Buffer w(values), g(100), m(values), v(values), copy(values);
  auto record = record_of(1, true);
  kernels->adamw({0.1f, 0.9f, 0.95f, 1e-8f, 0.1f, 0.1f, 0.05f, view(record)}, w, g, m, v, copy);
  for (const Buffer* buffer : {&w, &m, &v, &copy}) expect_close(*buffer, values, 0, "what was there");
}

TEST_P(Optimizer, ClipFormsNormScaleAndDecision) {
  std::vector<double> squares = {9, 0, 16, 0}, record = {7, 0, 0, 0};
  kernels->clip(1, 1, view(squares), view(record));
  EXPECT_EQ(record, (std::vector<double>{7, 5, 1 / (5 + 1e-6), 0}));
  kernels->clip(10, 1, view(squares), view(record));
  EXPECT_EQ(record, (std::vector<double>{7, 5, 1, 0})) << "below the limit";
  kernels->clip(0, 1, view(squares), view(record));
  EXPECT_EQ(record, (std::vector<double>{7, 5, 1, 0})) << "0: no clipping";
  squares = {1e17, 8, 8, 8, 8};  // each 8 alone is lost behind the first, in order; the other way round they would count
  kernels->clip(0, 1, view(squares), view(record));
  EXPECT_EQ(record[StepOutcome::norm_cell], std::sqrt(1e17));
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    squares = {1, bad, 1};
    kernels->clip(1, 1, view(squares), view(record));
    EXPECT_EQ(record[StepOutcome::skipped_cell], 1) << bad;
    EXPECT_FALSE(std::isfinite(record[StepOutcome::norm_cell]));
  }
}

TEST_P(Optimizer, CastsRoundToNearestAndComeBack) {
  for (const std::int64_t n : {0, 1, 20000}) {
    Buffer x(random_values(1, n, 3)), back(n);
    std::vector<std::uint16_t> narrow(static_cast<std::size_t>(n));
    for (const auto& [type, rounding] : {std::pair{DType::bf16, 0x1p-8}, {DType::fp16, 0x1p-11}}) {
      const View half{narrow.data(), n, type};
      kernels->cast(half, x);
      kernels->cast(back, half);
      for (std::int64_t i = 0; i < n; ++i)
        ASSERT_LE(std::abs(back[i] - x[i]), rounding * std::abs(x[i]) + 0x1p-25) << i;  // half a unit of fp16's subnormals
      const std::vector<std::uint16_t> once = narrow;
      kernels->cast(half, back);
      EXPECT_EQ(narrow, once) << "what fits is not changed";
    }
  }
  Buffer x(1, 0.0), y(1, 0.0);
  EXPECT_THROW(kernels->cast(x, y), std::logic_error);
}

TEST_P(Optimizer, CellsAreAddedInTheirOrder) {
  std::vector<double> total = {1e17, 2}, more = {8, 3}, cells = {1e17, 8, 8, -1e17};
  kernels->add(view(total), view(more));
  EXPECT_EQ(total, (std::vector<double>{1e17, 5})) << "8 is half a unit there, and the even one is nearest";
  EXPECT_EQ(result([&](View out) { kernels->sum(view(cells), out); }), 0);
}

TEST_P(Optimizer, Sums) {
  for (const std::int64_t n : {0, 1, 255, 1000, 100001}) {
    const Reals x = random_values(1, n);
    Buffer in(x), y(x);
    double squares = 0, total = 0;
    for (const double value : x) squares += value * value, total += value;
    EXPECT_NEAR(result([&](View out) { kernels->squared_norm(in, out); }), squares, 1e-12 * squares);  // double, another order
    EXPECT_EQ(result([&](View out) { kernels->sum(in, out); }), total);
    kernels->add(y, in);
    expect_close(y, sum_of(x, x), 0, "2x");
  }
  Buffer hand({3, 4});
  EXPECT_EQ(result([&](View out) { kernels->squared_norm(hand, out); }), 25);
  EXPECT_EQ(result([&](View out) { kernels->sum(hand, out); }), 7);
}

TEST_P(Optimizer, NonFiniteCount) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Buffer few({1, infinity, -infinity, std::nan(""), std::numeric_limits<float>::max(), 0});
  EXPECT_EQ(kernels->non_finite_count(few), 3);
  Reals many(50000, 1.0);
  many[49999] = many[31] = std::nan("");
  EXPECT_EQ(kernels->non_finite_count(Buffer(many)), 2);
  EXPECT_EQ(kernels->non_finite_count(Buffer(0)), 0);
}

}  // namespace
}  // namespace trireme::kernels
