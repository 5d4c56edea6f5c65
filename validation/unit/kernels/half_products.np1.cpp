// Linear layers and attention on elements of 2 bytes. Oracle: plain loops in double. Bounds: half_fixture.h.
#include "validation/unit/kernels/half_fixture.h"

namespace trireme::kernels {
namespace {

using reference::at;

using HalfProducts = HalfTest;
TRIREME_ON_BOTH_HALVES(HalfProducts);

/// The last has more rows, columns and terms than one tile: 512, 512, 1024.
const std::vector<LinearShape> shapes = {{1, 1, 1}, {7, 17, 3}, {130, 64, 192}, {515, 3, 521}, {3, 1030, 5}};

/// As in linear.np1: each of k additions rounds a partial sum of about the result's size.
double product_errors(std::int64_t k) { return (4 + std::sqrt(static_cast<double>(k))) * fp32_epsilon; }

Reals transposed(const Reals& x, std::int64_t rows, std::int64_t columns) {
  Reals y(x.size());
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) y[at(j * rows + i)] = x[at(i * columns + j)];
  return y;
}

Reals gelu_derivative(const Reals& x) {
  Reals slope;
  for (const double value : x) {
    constexpr double step = 1e-5;
    slope.push_back((reference::gelu({value + step})[0] - reference::gelu({value - step})[0]) / (2 * step));
  }
  return slope;
}

TEST_P(HalfProducts, LinearAndGelu) {
  for (const LinearShape& shape : shapes) {
    const Reals x = random(1, shape.rows * shape.in), weight = random(2, shape.out * shape.in), bias = random(3, shape.out);
    Half hx(type, x), hw(type, weight), hb(type, bias), y(type, shape.rows * shape.out), pre(type, shape.rows * shape.out);
    const Reals with_bias = reference::linear(shape, x, weight, bias);
    kernels->linear(shape, hx, hw, hb, y);
    expect_rounded(y, with_bias, product_errors(shape.in), "y");
    kernels->linear(shape, hx, hw, {}, y);
    expect_rounded(y, reference::linear(shape, x, weight, {}), product_errors(shape.in), "y without bias");
    kernels->linear_gelu(shape, hx, hw, hb, pre, y);
    expect_rounded(pre, with_bias, product_errors(shape.in), "pre");
    expect_rounded(y, reference::gelu(with_bias), 2 * product_errors(shape.in), "gelu");
  }
}

TEST_P(HalfProducts, Residual) {
  for (const LinearShape& shape : shapes)
    for (const float rate : {0.0f, 0.25f}) {
      const Rows rows{shape.rows, 1, 2};
      const Dropout dropout{rate, 99, 1000};
      const Reals x = random(1, shape.rows * shape.in), weight = random(2, shape.out * shape.in), bias = random(3, shape.out);
      const Reals residual = random(4, shape.rows * shape.out);
      Half hx(type, x), hw(type, weight), hb(type, bias), y(type, residual);
      kernels->linear_residual(
          {.shape = shape, .rows = rows, .x = hx, .weight = hw, .bias = hb, .dropout = dropout, .residual = y, .y = y});
      const Reals product = reference::linear(shape, x, weight, {});
      expect_rounded(y, reference::bias_residual(rows, shape.out, product, bias, dropout, residual), 2 * product_errors(shape.in),
                     "y in the place of the residual");
    }
}

TEST_P(HalfProducts, InputGradients) {
  for (const LinearShape& shape : shapes) {
    const Reals dy = random(1, shape.rows * shape.out), weight = random(2, shape.out * shape.in);
    const Reals before = random(3, shape.rows * shape.in);
    Half hdy(type, dy), hw(type, weight), pre(type, before), dx(type, shape.rows * shape.in);
    Reals expected = reference::linear({shape.rows, shape.out, shape.in}, dy, transposed(weight, shape.out, shape.in), {});
    kernels->linear_input_gradient(shape, hdy, hw, dx);
    expect_rounded(dx, expected, product_errors(shape.out), "dx");
    const Reals slope = gelu_derivative(before);
    for (std::size_t i = 0; i < slope.size(); ++i) expected[i] *= slope[i];
    kernels->linear_input_gradient_gelu(shape, hdy, hw, pre, dx);
    expect_rounded(dx, expected, 4 * product_errors(shape.out), "dpre");
  }
}

// Fp32, and added to what is there: nothing is rounded to the type.
TEST_P(HalfProducts, WeightGradientsAccumulateInFp32) {
  for (const LinearShape& shape : shapes) {
    const Reals dy = random(1, shape.rows * shape.out), x = random(2, shape.rows * shape.in);
    const Reals before = random_values(3, shape.out * shape.in), bias_before = random_values(4, shape.out);
    Half hdy(type, dy), hx(type, x);
    Buffer dweight(before), dbias(bias_before);
    kernels->linear_weight_gradient(shape, hdy, hx, dweight, dbias);
    const Reals product = reference::linear({shape.out, shape.rows, shape.in}, transposed(dy, shape.rows, shape.out),
                                            transposed(x, shape.rows, shape.in), {});
    expect_close(dweight, sum_of(before, product), product_errors(shape.rows), "dweight");
    const Reals ones(at(shape.rows), 1);
    const Reals sums = reference::linear({shape.out, shape.rows, 1}, transposed(dy, shape.rows, shape.out), ones, {});
    expect_close(dbias, sum_of(bias_before, sums), product_errors(shape.rows), "dbias");
  }
}

// ---- attention

std::int64_t count(const AttentionShape& shape) { return shape.rows.count() * shape.heads * shape.head_size; }

/// As in attention.np1.
constexpr double attention_errors = 32 * fp32_epsilon;

const std::vector<AttentionShape> attention_shapes = {
    {{1, 1}, 1, 3, 0}, {{33, 2}, 3, 16, 3}, {{65, 3}, 1, 5, 0}, {{200, 1}, 2, 64, 6}};

TEST_P(HalfProducts, Attention) {
  for (const AttentionShape& shape : attention_shapes)
    for (const float rate : {0.0f, 0.3f}) {
      const Dropout dropout{rate, 5, 17};
      const Reals values = random(1, 3 * count(shape));
      Half qkv(type, values), out(type, count(shape));
      Buffer log_sum(shape.rows.count() * shape.heads);
      kernels->attention(shape, qkv, dropout, out, log_sum);
      const auto expected = reference::attention(shape, values, dropout);
      expect_rounded(out, expected.out, attention_errors, "out");
      expect_close(log_sum, expected.log_sum, attention_errors, "log_sum");
    }
}

/// The formulas of kernels/cpu/attention as plain loops: P = exp(score - log_sum), f the dropout's factors, dP = f dout v,
/// D = rowsum(dout out) with `out` as the forward pass stored it; dS = P (dP - D).
Reals attention_backward(const AttentionShape& shape, const Reals& dout, const Reals& qkv, const Reals& out,
                         const Dropout& dropout) {
  const std::int64_t s = shape.rows.sequence, b = shape.rows.batch, heads = shape.heads, d = shape.head_size;
  const Reals log_sum = reference::attention(shape, qkv, dropout).log_sum;
  const double scale = 1 / std::sqrt(static_cast<double>(d));
  Reals dqkv(qkv.size());
  for (std::int64_t i = 0; i < b; ++i)
    for (std::int64_t head = 0; head < heads; ++head) {
      const auto in = [&](std::int64_t position, std::int64_t part) {
        return (((position * b + i) * 3 + part) * heads + head) * d;
      };
      const auto to = [&](std::int64_t position) { return ((position * b + i) * heads + head) * d; };
      const auto dot = [&](const Reals& x, std::int64_t first, const Reals& y, std::int64_t second) {
        double sum = 0;
        for (std::int64_t c = 0; c < d; ++c) sum += x[at(first + c)] * y[at(second + c)];
        return sum;
      };
      const auto add = [&](std::int64_t first, double factor, const Reals& x, std::int64_t second) {
        for (std::int64_t c = 0; c < d; ++c) dqkv[at(first + c)] += factor * x[at(second + c)];
      };
      for (std::int64_t q = 0; q < s; ++q) {
        const double rest = dot(dout, to(q), out, to(q));
        for (std::int64_t k = 0; k <= q; ++k) {
          const double p = std::exp(scale * dot(qkv, in(q, 0), qkv, in(k, 1)) - log_sum[at((i * heads + head) * s + q)]);
          const double f = reference::dropout_factor(dropout, i, (shape.first_head + head) * s + q, s, k);
          const double ds = p * (f * dot(dout, to(q), qkv, in(k, 2)) - rest);
          add(in(q, 0), scale * ds, qkv, in(k, 1));
          add(in(k, 1), scale * ds, qkv, in(q, 0));
          add(in(k, 2), f * p, dout, to(q));
        }
      }
    }
  return dqkv;
}

TEST_P(HalfProducts, AttentionBackward) {
  for (const AttentionShape& shape : attention_shapes)
    for (const float rate : {0.0f, 0.3f}) {
      const Dropout dropout{rate, 6, 1ull << 33};
      const Reals values = random(3, 3 * count(shape)), dy = random(4, count(shape));
      const auto forward = reference::attention(shape, values, dropout);
      Half dout(type, dy), qkv(type, values), out(type, forward.out), dqkv(type, 3 * count(shape));
      Buffer log_sum(forward.log_sum);
      kernels->attention_backward(
          {.shape = shape, .dout = dout, .qkv = qkv, .out = out, .log_sum = log_sum, .dropout = dropout, .dqkv = dqkv});
      expect_rounded(dqkv, attention_backward(shape, dy, values, out.reals(), dropout), 4 * attention_errors, "dqkv");
    }
}

TEST_P(HalfProducts, RefusesOtherTypesAndKernelsWithoutScratch) {
  Half x(type, 6), weight(type, 6), y(type, 9);
  Buffer fp32(9);
  EXPECT_THROW(kernels->linear({3, 2, 3}, x, weight, {}, fp32), std::logic_error);
  EXPECT_THROW(kernels->linear({3, 2, 3}, fp32, weight, {}, y), std::logic_error);
  const auto for_fp32 = make_cpu_kernels({.threads = 1, .sequence = 256, .head_size = 64});
  EXPECT_THROW(for_fp32->linear({3, 2, 3}, x, weight, {}, y), std::logic_error);
  Half qkv(type, 6), out(type, 2);
  EXPECT_THROW(for_fp32->attention({{1, 1}, 1, 2, 0}, qkv, {}, out, fp32), std::logic_error);
}

}  // namespace
}  // namespace trireme::kernels
