// AdamW and reductions. Oracle: the formulas of Loshchilov and Hutter (2019), algorithm 2, in double.
#include <limits>

#include "validation/unit/kernels/fixture.h"
#include "validation/unit/kernels/reference_kernels.h"

namespace trireme::kernels {
namespace {

using Optimizer = KernelsTest;
TRIREME_ON_ONE_AND_TWO_THREADS(Optimizer);

TEST_P(Optimizer, AdamWHandComputed) {
  // First step: both corrections cancel the factors, so the update is the sign of the gradient.
  Buffer w({1, 1, 1}), g({4, -0.5, 0}), m(3, 0), v(3, 0);
  kernels->adamw({0.1f, 0.9f, 0.95f, 0, 0.5f, 1, 0.1f, 0.05f}, w, g, m, v);
  EXPECT_FLOAT_EQ(w[0], 0.85f);  // 1 - 0.1 * (1 + 0.5)
  EXPECT_FLOAT_EQ(w[1], 1.05f);
  EXPECT_TRUE(std::isnan(w[2])) << "0 / 0 without an epsilon";
  EXPECT_FLOAT_EQ(m[0], 0.4f);
  EXPECT_FLOAT_EQ(v[0], 0.8f);
}

TEST_P(Optimizer, AdamW) {
  for (const std::int64_t n : {1, 17, 40000}) {
    const AdamW step{3e-2f, 0.9f, 0.95f, 1e-8f, 0.1f, 0.7f, 0.271f, 0.142625f};
    Reals w = random_values(1, n), g = random_values(2, n), m = random_values(3, n), v = random_values(4, n);
    for (double& x : v) x = x * x;
    Buffer weight(w), gradient(g), first(m), second(v);
    kernels->adamw(step, weight, gradient, first, second);
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double scaled = g[i] * static_cast<double>(step.gradient_scale);
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

TEST_P(Optimizer, Sums) {
  for (const std::int64_t n : {0, 1, 255, 1000, 100001}) {
    const Reals x = random_values(1, n);
    Buffer in(x), y(x);
    double squares = 0, total = 0;
    for (const double value : x) squares += value * value, total += value;
    EXPECT_NEAR(kernels->squared_norm(in), squares, 1e-12 * squares);  // double, another order
    EXPECT_EQ(kernels->sum(in), total);
    kernels->add(y, in);
    expect_close(y, sum_of(x, x), 0, "2x");
  }
  Buffer hand({3, 4});
  EXPECT_EQ(kernels->squared_norm(hand), 25);
  EXPECT_EQ(kernels->sum(hand), 7);
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
