// The functions that the kernels evaluate themselves. Oracle: libm in double.
#include <bit>
#include <limits>

#include "kernels/cpu/gemm/gelu.h"
#include "validation/unit/kernels/fixture.h"

namespace trireme::kernels {
namespace {

/// Distance of two floats' values relative to the spacing of floats at the expected one
double in_ulp(float actual, double expected) {
  const auto nearest = static_cast<float>(expected);
  const double spacing = static_cast<double>(std::nextafter(nearest, std::numeric_limits<float>::infinity())) - nearest;
  return std::abs(actual - expected) / spacing;
}

// Every 997th float between the ends: some 2 million of either sign.
TEST(Exponential, WithinTwoUlpOverItsRange) {
  double worst = 0;
  for (const std::uint32_t sign : {0u, 0x80000000u})
    for (std::uint32_t bits = 0; bits < std::bit_cast<std::uint32_t>(88.7f); bits += 997) {
      const float x = std::bit_cast<float>(bits | sign);
      if (x > -86.9f) worst = std::max(worst, in_ulp(exponential(x), std::exp(static_cast<double>(x))));
    }
  EXPECT_LE(worst, 2);
}

TEST(Exponential, Ends) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(exponential(0), 1);
  EXPECT_EQ(exponential(-0.0f), 1);
  EXPECT_EQ(exponential(-infinity), 0);
  EXPECT_EQ(exponential(-1e30f), 0);
  EXPECT_EQ(exponential(-87.5f), 0);
  EXPECT_EQ(exponential(88.73f), infinity);  // e^88.7229 is the largest float
  EXPECT_EQ(exponential(1e30f), infinity);
  EXPECT_EQ(exponential(infinity), infinity);
  EXPECT_TRUE(std::isnan(exponential(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isfinite(exponential(88.72f)));
}

/// In double, with the same u = 2 sqrt(2/pi) (x + 0.044715 x^3)
double gelu_argument(double x) { return 2 * std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x); }
double gelu_in_double(double x) { return 0.5 * x * (1 + std::tanh(gelu_argument(x) / 2)); }

// u is rounded by 2 epsilon |u|, and e^-u by as much relatively.
TEST(Gelu, OverItsRange) {
  for (double at = -12; at < 12; at += 0.00037) {
    const auto x = static_cast<float>(at);
    const double tail = x / (1 + std::exp(-gelu_argument(x)));  // tanh would cancel for x < 0
    EXPECT_LE(std::abs(gelu(x) - tail), (4 + 2 * std::abs(gelu_argument(x))) * fp32_epsilon * std::abs(tail) + 1e-36) << x;
    EXPECT_NEAR(gelu(x), gelu_in_double(x), 4 * fp32_epsilon * std::max(1.0, std::abs(at))) << x;
    const double difference = (gelu_in_double(x + 1e-5) - gelu_in_double(x - 1e-5)) / 2e-5;  // error 1e-10
    EXPECT_NEAR(gelu_derivative(x), difference, 8 * fp32_epsilon) << x;
  }
  EXPECT_EQ(gelu(0), 0);
  EXPECT_EQ(gelu(100), 100);
  EXPECT_EQ(gelu(-100), 0);
  for (const float far : {100.0f, 1e4f, 1e15f, 5e19f, 3e38f}) {
    EXPECT_EQ(gelu_derivative(far), 1) << far;
    EXPECT_NEAR(gelu_derivative(-far), 0, 1e-29) << far;
  }
  EXPECT_TRUE(std::isnan(gelu_derivative(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(gelu(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace trireme::kernels
