// Oracle: plain loops in double, and their central differences for gradients.
#include "validation/unit/kernels/fixture.h"
#include "validation/unit/kernels/reference_kernels.h"
#include "validation/unit/support/views.h"

namespace trireme::kernels {
namespace {

using Linear = KernelsTest;
TRIREME_ON_ONE_AND_TWO_THREADS(Linear);

const std::vector<LinearShape> shapes = {{1, 1, 1}, {7, 3, 17}, {7, 17, 3}, {33, 65, 17}, {130, 64, 192}};

/// Each of k additions rounds a partial sum of about the result's size; independent roundings add as sqrt(k).
double product_tolerance(std::int64_t k) { return (4 + std::sqrt(static_cast<double>(k))) * fp32_epsilon; }

struct Case {
  Reals x, weight, bias, residual, dy;
};
Case make(const LinearShape& shape) {
  return {random_values(1, shape.rows * shape.in), random_values(2, shape.out * shape.in), random_values(3, shape.out),
          random_values(4, shape.rows * shape.out), random_values(5, shape.rows * shape.out)};
}

TEST_P(Linear, HandComputed) {
  Buffer x({1, 2, 3, 4}), weight({1, 10, 100, 1000, 5, 6}), bias({0.5, 0.25, 0}), y(6);
  kernels->linear({2, 2, 3}, x, weight, bias, y);  // rows (1, 2), (3, 4); W rows (1, 10), (100, 1000), (5, 6)
  EXPECT_EQ(y.values(), (std::vector<float>{21.5f, 2100.25f, 17, 43.5f, 4300.25f, 39}));
  kernels->linear({2, 2, 3}, x, weight, {}, y);
  EXPECT_EQ(y.values(), (std::vector<float>{21, 2100, 17, 43, 4300, 39}));
}

TEST_P(Linear, Forward) {
  for (const LinearShape& shape : shapes) {
    const Case c = make(shape);
    Buffer x(c.x), weight(c.weight), bias(c.bias), y(shape.rows * shape.out);
    kernels->linear(shape, x, weight, bias, y);
    expect_close(y, reference::linear(shape, c.x, c.weight, c.bias), product_tolerance(shape.in), "y");
  }
}

TEST_P(Linear, Gelu) {
  for (const LinearShape& shape : shapes) {
    const Case c = make(shape);
    Buffer x(c.x), weight(c.weight), bias(c.bias), pre(shape.rows * shape.out), y(shape.rows * shape.out);
    kernels->linear_gelu(shape, x, weight, bias, pre, y);
    const Reals before = reference::linear(shape, c.x, c.weight, c.bias);
    expect_close(pre, before, product_tolerance(shape.in), "pre");
    expect_close(y, reference::gelu(before), 2 * product_tolerance(shape.in), "y");
  }
}

TEST_P(Linear, Residual) {
  for (const LinearShape& shape : shapes)
    for (const float rate : {0.0f, 0.25f}) {
      const Case c = make(shape);
      const Rows rows{shape.rows, 1};
      const Dropout dropout{rate, 99, 1000};
      Buffer x(c.x), weight(c.weight), bias(c.bias), residual(c.residual), y(shape.rows * shape.out);
      kernels->linear_residual({.shape = shape,
                                .rows = rows,
                                .x = x,
                                .weight = weight,
                                .bias = bias,
                                .dropout = dropout,
                                .residual = residual,
                                .y = y});
      const Reals expected =
          reference::bias_residual(rows, shape.out, reference::linear(shape, c.x, c.weight, {}), c.bias, dropout, c.residual);
      expect_close(y, expected, product_tolerance(shape.in), "y");
      kernels->linear_residual({.shape = shape,
                                .rows = rows,
                                .x = x,
                                .weight = weight,
                                .bias = bias,
                                .dropout = dropout,
                                .residual = residual,
                                .y = residual});
      EXPECT_EQ(residual.values(), y.values()) << "y in the place of the residual";
    }
}

// More rows than the scratch of one product holds: 2^18 elements.
TEST_P(Linear, ResidualInPieces) {
  const LinearShape shape{150, 2, 2000};
  const Case c = make(shape);
  const Rows rows{75, 2};
  const Dropout dropout{0.5f, 7, 3};
  Buffer x(c.x), weight(c.weight), bias(c.bias), y(c.residual);
  kernels->linear_residual(
      {.shape = shape, .rows = rows, .x = x, .weight = weight, .bias = bias, .dropout = dropout, .residual = y, .y = y});
  expect_close(
      y, reference::bias_residual(rows, shape.out, reference::linear(shape, c.x, c.weight, {}), c.bias, dropout, c.residual),
      product_tolerance(shape.in), "y");
}

TEST_P(Linear, InputGradient) {
  for (const LinearShape& shape : shapes) {
    const Case c = make(shape);
    Buffer dy(c.dy), weight(c.weight), dx(shape.rows * shape.in);
    kernels->linear_input_gradient(shape, dy, weight, dx);
    Reals expected;
    for (std::int64_t i = 0; i < shape.rows; ++i)
      for (std::int64_t k = 0; k < shape.in; ++k) {
        double sum = 0;
        for (std::int64_t o = 0; o < shape.out; ++o)
          sum += c.dy[reference::at(i * shape.out + o)] * c.weight[reference::at(o * shape.in + k)];
        expected.push_back(sum);
      }
    expect_close(dx, expected, product_tolerance(shape.out), "dx");
  }
}

TEST_P(Linear, GradientsAreDifferences) {
  const LinearShape shape{7, 17, 5};
  const Case c = make(shape);
  Buffer dy(c.dy), x(c.x), weight(c.weight), dweight(c.weight), dbias(c.bias), pre(c.x), dpre(shape.rows * shape.in);
  kernels->linear_weight_gradient(shape, dy, x, dweight, dbias);
  const auto of_weight = [&](const Reals& w) { return reference::linear(shape, c.x, w, c.bias); };
  const auto of_bias = [&](const Reals& b) { return reference::linear(shape, c.x, c.weight, b); };
  const auto of_pre = [&](const Reals& p) { return reference::linear(shape, reference::gelu(p), c.weight, c.bias); };
  expect_close(dweight, sum_of(c.weight, difference_gradient(of_weight, c.weight, c.dy)), product_tolerance(shape.rows),
               "dweight");
  expect_close(dbias, sum_of(c.bias, difference_gradient(of_bias, c.bias, c.dy)), product_tolerance(shape.rows), "dbias");
  kernels->linear_input_gradient_gelu(shape, dy, weight, pre, dpre);
  expect_close(dpre, difference_gradient(of_pre, c.x, c.dy), 2 * product_tolerance(shape.out), "dpre");
  Buffer without(c.weight);
  kernels->linear_weight_gradient(shape, dy, x, without, {});
  EXPECT_EQ(without.values(), dweight.values());
}

TEST_P(Linear, ColumnSumsOfManyRows) {
  const LinearShape shape{1025, 1, 300};
  const Case c = make(shape);
  Buffer dy(c.dy), x(c.x), dweight(shape.out, 0), dbias(shape.out, 0);
  kernels->linear_weight_gradient(shape, dy, x, dweight, dbias);
  Reals expected(300);
  for (std::size_t i = 0; i < c.dy.size(); ++i) expected[i % 300] += c.dy[i];
  expect_close(dbias, expected, 16 * fp32_epsilon, "dbias");  // 1025 additions in order: their roundings add as sqrt(n)
}

TEST_P(Linear, RefusesShortOrOtherViews) {
  Buffer x(6), weight(6), y(3);
  std::vector<double> other(9);
  EXPECT_THROW(kernels->linear({3, 2, 3}, x, weight, {}, y), std::logic_error);
  EXPECT_THROW(kernels->linear({3, 2, 3}, x, weight, {}, test::view(other)), std::logic_error);
}

}  // namespace
}  // namespace trireme::kernels
