// Layer norm's CUDA kernels in the simulator. Oracle: plain loops in double on the same rounded inputs; their gradients are
// themselves held against central differences. Tolerance: one rounding of the result, and those of fp32 on the way.
#include "kernels/cost.h"
#include "validation/unit/simt/fixture.h"
#include "validation/unit/simt/kernels/layer_norm_cases.h"

namespace trireme::simt {
namespace {

using SimtLayerNorm = SimtTest;
TRIREME_IN_EVERY_ORDER(SimtLayerNorm);

// 1: less than a warp's piece; 8, 264, 1024: whole pieces; 7, 33, 1001: scalar accesses; the others need 1, 2, 4, 8 pieces a
// thread.
constexpr std::int64_t sizes[] = {33, 264, 1001, 1024, 1, 7, 8, 4104, 8200, 16384};

template <class T>
void every_size() {
  for (const std::int64_t hidden : chosen(sizes)) {
    const std::int64_t rows = hidden < 1000 ? 5 : 2;
    EXPECT_TRUE(forward_is_right<T>(rows, hidden)) << "forward, hidden " << hidden;
    EXPECT_TRUE(residual_is_right<T>({rows, 2, 3}, hidden, 0.1f)) << "residual, hidden " << hidden;
    EXPECT_TRUE(backward_is_right<T>(rows, hidden, hidden % 2 == 0)) << "backward, hidden " << hidden;
  }
}
TEST_P(SimtLayerNorm, Bf16) { every_size<bf16>(); }
TEST_P(SimtLayerNorm, Fp16) { every_size<fp16>(); }
TEST_P(SimtLayerNorm, Fp32) { every_size<float>(); }

// Of the largest models, and more than what has its weight gradients summed by rows
TEST_P(SimtLayerNorm, LongRows) {
  const std::int64_t part = only_small() ? 8 : 1;
  EXPECT_TRUE(forward_is_right<bf16>(1, 25600 / part));
  EXPECT_TRUE(backward_is_right<bf16>(2, 20480 / part, true));
  EXPECT_TRUE(backward_is_right<bf16>(2, 25600 / part, true));
  EXPECT_TRUE(backward_is_right<float>(2, 20485 / part, false));
  EXPECT_THROW(kernels::cuda::layer_norm({.rows = 1,
                                          .hidden = kernels::cuda::layer_norm_limit + 1,
                                          .x = {},
                                          .gain = {},
                                          .bias = {},
                                          .y = {},
                                          .mean = {},
                                          .rstd = {}},
                                         null_stream),
               std::invalid_argument);
}

TEST_P(SimtLayerNorm, WithoutDropoutAndWithMuchOfIt) {
  for (const float rate : {0.0f, 0.9f}) EXPECT_TRUE(residual_is_right<bf16>({3, 4, 0}, 72, rate)) << rate;
}

TEST_P(SimtLayerNorm, ManyRows) {  // blocks that visit several rows, more blocks than the second stage has rows
  for (const std::int64_t rows : {1, 16, 17, 300}) EXPECT_TRUE(backward_is_right<float>(rows, 40, true)) << rows;
}

TEST_P(SimtLayerNorm, NoRows) {  // a GPU takes no grid without blocks
  Tensor<bf16> gain(Reals(8, 1));
  Tensor<float> dgain(Reals(8, 5)), dbias(Reals(8, 5));
  View none{nullptr, 0, kernels::DType::bf16}, no_floats{nullptr, 0, kernels::DType::fp32};
  kernels::cuda::layer_norm(
      {.rows = 0, .hidden = 8, .x = none, .gain = gain, .bias = gain, .y = none, .mean = no_floats, .rstd = no_floats},
      null_stream);
  kernels::cuda::residual_layer_norm({.rows = {0, 3, 0},
                                      .hidden = 8,
                                      .x = none,
                                      .linear_bias = gain,
                                      .residual = none,
                                      .sum = none,
                                      .gain = gain,
                                      .bias = gain,
                                      .y = none,
                                      .mean = no_floats,
                                      .rstd = no_floats},
                                     null_stream);
  kernels::cuda::layer_norm_backward({.rows = 0,
                                      .hidden = 8,
                                      .dy = none,
                                      .x = none,
                                      .gain = gain,
                                      .mean = no_floats,
                                      .rstd = no_floats,
                                      .dx = none,
                                      .dgain = dgain,
                                      .dbias = dbias},
                                     {}, null_stream);
  EXPECT_EQ(counters().launches, 0u);
  EXPECT_EQ(dgain.reals(), Reals(8, 5));
}

// The rounding of the mean must cost nothing: neither where it is far from zero nor where all deviations are zero.
TEST_P(SimtLayerNorm, ExtremeRows) {
  constexpr std::int64_t hidden = 264;
  Reals far = Tensor<float>::random(1, 2 * hidden, 1, 1e4), spike(2 * hidden, 0), constant(2 * hidden, 1e4);
  for (std::size_t i = hidden; i < constant.size(); ++i) constant[i] = 12345.678;  // not a number of fp32
  spike[7] = 1e4, spike[hidden] = -1e4;
  for (const double of_bf16 : {1e4, 100.0}) {
    EXPECT_TRUE(forward_is_right<bf16>(2, hidden, Tensor<bf16>::random(1, 2 * hidden, of_bf16))) << of_bf16;
    EXPECT_TRUE(forward_is_right<bf16>(2, hidden, Tensor<bf16>::random(1, 2 * hidden, 1, of_bf16))) << of_bf16;
  }
  for (const Reals& x : {far, spike, Tensor<float>(constant).reals()}) EXPECT_TRUE(forward_is_right<float>(2, hidden, x)) << x[0];
  for (const Reals& x : {spike, Tensor<fp16>(constant).reals()}) {
    EXPECT_TRUE(forward_is_right<fp16>(2, hidden, x)) << x[0];
    EXPECT_TRUE(backward_is_right<fp16>(2, hidden, true, x)) << x[0];
  }
  EXPECT_TRUE(backward_is_right<fp16>(2, hidden, true, Tensor<fp16>::random(1, 2 * hidden, 1e4)));
}

TEST_P(SimtLayerNorm, DeterministicWhateverTheOrder) {
  const auto gradients = [] {
    const Reals values = Tensor<float>::random(1, 40 * 33);
    Tensor<float> x(values), dy(values), gain(Reals(33, 1)), mean(Reals(40, 0.5)), rstd(Reals(40, 2)), dx(40 * 33),
        dgain(Reals(33)), dbias(Reals(33)), scratch(kernels::cuda::layer_norm_scratch(40, 33));
    kernels::cuda::layer_norm_backward({.rows = 40,
                                        .hidden = 33,
                                        .dy = dy,
                                        .x = x,
                                        .gain = gain,
                                        .mean = mean,
                                        .rstd = rstd,
                                        .dx = dx,
                                        .dgain = dgain,
                                        .dbias = dbias},
                                       scratch, null_stream);
    Reals all = dx.reals();
    for (const Reals& more : {dgain.reals(), dbias.reals()}) all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const Reals here = gradients();
  options().order = Order::ascending;
  EXPECT_EQ(here, gradients());
}

// What cost.h declares, against the sectors counted; the row's elements are requested once only. With as many rows as a
// microbatch has, the parts of the weight gradients do not count in what is declared.
TEST(SimtLayerNormCost, BytesMoved) {
  options() = {};
  options().count = true;
  counters() = {};
  constexpr std::int64_t rows = 8192, hidden = 64;
  const Reals values = Tensor<bf16>::random(1, rows * hidden);
  Tensor<bf16> x(values), dy(values), residual(values), gain(Reals(hidden, 1)), bias(Reals(hidden, 0)), sum(rows * hidden),
      y(rows * hidden), dx(rows * hidden);
  Tensor<float> mean(rows), rstd(rows), dgain(Reals(hidden, 0)), dbias(Reals(hidden, 0));
  Tensor<float> scratch(kernels::cuda::layer_norm_scratch(rows, hidden));
  kernels::cuda::layer_norm(
      {.rows = rows, .hidden = hidden, .x = x, .gain = gain, .bias = bias, .y = y, .mean = mean, .rstd = rstd}, null_stream);
  expect_moved(kernels::cost::layer_norm(rows, hidden, 2), "forward");
  EXPECT_EQ(x.requested().read, x.bytes());
  EXPECT_EQ(y.requested().written, y.bytes());
  kernels::cuda::residual_layer_norm({.rows = {rows, 1, 0},
                                      .hidden = hidden,
                                      .x = x,
                                      .linear_bias = bias,
                                      .dropout = {0.1f, 1, 0},
                                      .residual = residual,
                                      .sum = sum,
                                      .gain = gain,
                                      .bias = bias,
                                      .y = y,
                                      .mean = mean,
                                      .rstd = rstd},
                                     null_stream);
  expect_moved(kernels::cost::residual_layer_norm({rows, 1, 0}, hidden, 2), "with residual");
  EXPECT_EQ(residual.requested().read, residual.bytes());
  kernels::cuda::layer_norm_backward({.rows = rows,
                                      .hidden = hidden,
                                      .dy = dy,
                                      .x = x,
                                      .gain = gain,
                                      .mean = mean,
                                      .rstd = rstd,
                                      .dresidual = sum,
                                      .dx = dx,
                                      .dgain = dgain,
                                      .dbias = dbias},
                                     scratch, null_stream);
  expect_moved(kernels::cost::layer_norm_backward(rows, hidden, 2), "backward");
  EXPECT_EQ(dy.requested().read, dy.bytes());
  options() = {};
}

TEST(SimtLayerNormCost, LongRowsAreReadTwiceInTheBackwardPass) {
  options() = {};
  options().count = true;
  counters() = {};
  EXPECT_TRUE(backward_is_right<bf16>(3, 20488, true));
  expect_moved(kernels::cuda::layer_norm_backward_cost(3, 20488, 2), "backward");
  options() = {};
}

TEST(SimtLayerNormReference, GradientsAreThoseOfDifferences) {
  constexpr std::int64_t rows = 2, hidden = 5;
  Reals x = Tensor<float>::random(1, rows * hidden), gain = Tensor<float>::random(2, hidden), bias(hidden, 0);
  const Reals dy = Tensor<float>::random(3, rows * hidden);
  const auto loss = [&] {
    const Reals y = reference::layer_norm(rows, hidden, x, gain, bias).y;
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += dy[i] * y[i];
    return sum;
  };
  const NormGradients expected = norm_gradients(rows, hidden, dy, x, gain);
  const auto compare = [&](Reals& variable, const Reals& gradient) {
    for (std::size_t i = 0; i < variable.size(); ++i) {
      const double kept = variable[i], step = 1e-5;
      variable[i] = kept + step;
      const double above = loss();
      variable[i] = kept - step;
      EXPECT_NEAR((above - loss()) / (2 * step), gradient[i], 1e-7);  // step^2 and double's rounding / step
      variable[i] = kept;
    }
  };
  compare(x, expected.dx);
  compare(gain, expected.dgain);
  compare(bias, expected.dbias);
}

}  // namespace
}  // namespace trireme::simt
