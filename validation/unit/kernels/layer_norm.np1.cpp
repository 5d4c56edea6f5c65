// Oracle: plain loops in double, and their central differences for gradients.
#include "validation/unit/kernels/fixture.h"
#include "validation/unit/kernels/reference_kernels.h"

namespace trireme::kernels {
namespace {

using LayerNorm = KernelsTest;
TRIREME_ON_ONE_AND_TWO_THREADS(LayerNorm);

constexpr double norm_tolerance = 8 * fp32_epsilon;  // two means, a root, a division, three more operations

struct Case {
  Reals x, gain, bias, dy, residual;
};
Case make(std::int64_t rows, std::int64_t hidden) {
  return {random_values(1, rows * hidden), random_values(2, hidden), random_values(3, hidden), random_values(4, rows * hidden),
          random_values(5, rows * hidden)};
}

TEST_P(LayerNorm, HandComputed) {
  Buffer x({1, 3, 5, 5}), gain({2, 2}), bias({0, 10}), y(4), mean(2), rstd(2);
  kernels->layer_norm({.rows = 2, .hidden = 2, .x = x, .gain = gain, .bias = bias, .y = y, .mean = mean, .rstd = rstd});
  EXPECT_EQ(mean.values(), (std::vector<float>{2, 5}));
  EXPECT_FLOAT_EQ(rstd[0], 0.999995f);  // 1 / sqrt(1 + 1e-5)
  EXPECT_FLOAT_EQ(rstd[1], 316.227766f);
  EXPECT_FLOAT_EQ(y[0], -1.99999f);
  EXPECT_FLOAT_EQ(y[1], 11.99999f);
  EXPECT_EQ(y[2], 0);
  EXPECT_EQ(y[3], 10);
}

TEST_P(LayerNorm, Forward) {
  for (const std::int64_t hidden : {1, 3, 17, 65, 384})
    for (const std::int64_t rows : {1, 7, 130}) {
      const Case c = make(rows, hidden);
      Buffer x(c.x), gain(c.gain), bias(c.bias), y(rows * hidden), mean(rows), rstd(rows);
      kernels->layer_norm(
          {.rows = rows, .hidden = hidden, .x = x, .gain = gain, .bias = bias, .y = y, .mean = mean, .rstd = rstd});
      const auto expected = reference::layer_norm(rows, hidden, c.x, c.gain, c.bias);
      expect_close(y, expected.y, norm_tolerance, "y");
      expect_close(mean, expected.mean, norm_tolerance, "mean", 1);
      expect_close(rstd, expected.rstd, norm_tolerance, "rstd");
    }
}

// A common offset must not spoil the variance: x - mean is exact to roundings of x, 100 times larger than the deviations.
TEST_P(LayerNorm, LargeMean) {
  Case c = make(3, 65);
  for (double& x : c.x) x = static_cast<float>(x + 100);
  Buffer x(c.x), gain(c.gain), bias(c.bias), y(3 * 65), mean(3), rstd(3);
  kernels->layer_norm({.rows = 3, .hidden = 65, .x = x, .gain = gain, .bias = bias, .y = y, .mean = mean, .rstd = rstd});
  expect_close(y, reference::layer_norm(3, 65, c.x, c.gain, c.bias).y, 100 * norm_tolerance, "y");
}

TEST_P(LayerNorm, AfterResidual) {
  for (const float rate : {0.0f, 0.1f})
    for (const std::int64_t hidden : {1, 17, 65, 600}) {
      const Rows rows{7, 2, 5};
      const std::int64_t n = rows.count();
      const Case c = make(n, hidden);
      const Dropout dropout{rate, 31, 8};
      Buffer x(c.x), before(c.bias), residual(c.residual), sum(n * hidden), gain(c.gain), bias(c.bias), y(n * hidden), mean(n),
          rstd(n);
      kernels->residual_layer_norm({.rows = rows,
                                    .hidden = hidden,
                                    .x = x,
                                    .linear_bias = before,
                                    .dropout = dropout,
                                    .residual = residual,
                                    .sum = sum,
                                    .gain = gain,
                                    .bias = bias,
                                    .y = y,
                                    .mean = mean,
                                    .rstd = rstd});
      const Reals sums = reference::bias_residual(rows, hidden, c.x, c.bias, dropout, c.residual);
      const auto expected = reference::layer_norm(n, hidden, sums, c.gain, c.bias);
      expect_close(sum, sums, 4 * fp32_epsilon, "sum");
      expect_close(y, expected.y, 2 * norm_tolerance, "y");  // the roundings of the sum come on top
      expect_close(rstd, expected.rstd, norm_tolerance, "rstd");
    }
}

TEST_P(LayerNorm, Backward) {
  for (const std::int64_t hidden : {1, 3, 17, 65})
    for (const std::int64_t rows : {1, 7}) {
      const Case c = make(rows, hidden);
      const auto forward = reference::layer_norm(rows, hidden, c.x, c.gain, c.bias);
      Buffer dy(c.dy), x(c.x), gain(c.gain), mean(forward.mean), rstd(forward.rstd), dx(c.residual), plain(rows * hidden),
          dgain(c.gain), dbias(c.bias);
      kernels->layer_norm_backward({.rows = rows,
                                    .hidden = hidden,
                                    .dy = dy,
                                    .x = x,
                                    .gain = gain,
                                    .mean = mean,
                                    .rstd = rstd,
                                    .dresidual = dx,
                                    .dx = dx,
                                    .dgain = dgain,
                                    .dbias = dbias});
      const auto of = [&](const Reals& values, const Reals& gains, const Reals& biases) {
        return reference::layer_norm(rows, hidden, values, gains, biases).y;
      };
      const Reals by_x = difference_gradient([&](const Reals& v) { return of(v, c.gain, c.bias); }, c.x, c.dy);
      const Reals by_gain = difference_gradient([&](const Reals& v) { return of(c.x, v, c.bias); }, c.gain, c.dy);
      const Reals by_bias = difference_gradient([&](const Reals& v) { return of(c.x, c.gain, v); }, c.bias, c.dy);
      // What is rounded is multiplied by rstd at last: 316 for one column, and large where three lie close together.
      const double tolerance = *std::max_element(forward.rstd.begin(), forward.rstd.end()) * norm_tolerance;
      expect_close(dx, sum_of(c.residual, by_x), tolerance, "dx");
      expect_close(dgain, sum_of(c.gain, by_gain), tolerance, "dgain");
      expect_close(dbias, sum_of(c.bias, by_bias), tolerance, "dbias");
      kernels->layer_norm_backward({.rows = rows,
                                    .hidden = hidden,
                                    .dy = dy,
                                    .x = x,
                                    .gain = gain,
                                    .mean = mean,
                                    .rstd = rstd,
                                    .dx = plain,
                                    .dgain = dgain,
                                    .dbias = dbias});
      expect_close(plain, by_x, tolerance, "dx alone", 1);
    }
}

}  // namespace
}  // namespace trireme::kernels
