// bias_residual, its backward pass and dropout in the simulator. Oracle: plain loops in double on the same rounded inputs, with
// the masks of base/philox.h. Tolerance: one rounding of the result, and those of fp32 on the way.
#include "validation/unit/simt/fixture.h"
#include "validation/unit/simt/kernels/residual_cases.h"

namespace trireme::simt {
namespace {

using SimtResidual = SimtTest;
TRIREME_IN_EVERY_ORDER(SimtResidual);

constexpr Dropout dropout{0.2f, 0x123456789abcdefull, 40};

// 1, 7, 33, 1001: scalar accesses; 8, 264: whole pieces, in one tile of columns and in two; 4104: two pieces a thread.
template <class T>
void every_size() {
  for (const std::int64_t hidden : {1, 7, 8, 33, 264, 1001, 4104}) {
    const Rows rows{hidden < 1000 ? 5 : 1, 2, 3};
    EXPECT_TRUE(bias_residual_is_right<T>(rows, hidden, dropout)) << "forward, hidden " << hidden;
    EXPECT_TRUE(dropout_is_right<T>(rows, hidden, dropout)) << "dropout, hidden " << hidden;
    for (const bool in_place : {false, true})
      EXPECT_TRUE(bias_residual_backward_is_right<T>(rows, hidden, dropout, in_place)) << "backward, hidden " << hidden;
  }
}
TEST_P(SimtResidual, Bf16) { every_size<bf16>(); }
TEST_P(SimtResidual, Fp16) { every_size<fp16>(); }
TEST_P(SimtResidual, Fp32) { every_size<float>(); }

TEST_P(SimtResidual, WithoutDropout) {
  const Rows rows{3, 2, 0};
  EXPECT_TRUE(bias_residual_is_right<bf16>(rows, 40, {}));
  EXPECT_TRUE(dropout_is_right<bf16>(rows, 40, {}));
  for (const bool in_place : {false, true}) EXPECT_TRUE(bias_residual_backward_is_right<bf16>(rows, 40, {}, in_place));
}

TEST_P(SimtResidual, ManyRows) {  // less than a share of the rows, one, more than one with a rest
  for (const std::int64_t n : {7, 8, 64, 300})
    EXPECT_TRUE(bias_residual_backward_is_right<bf16>({n, 1, 0}, 24, dropout, true)) << n;
}

TEST(SimtResidualCost, BytesMoved) {
  options() = {};
  options().count = true;
  counters() = {};
  constexpr Rows rows{512, 2, 0};
  constexpr std::int64_t hidden = 256, n = rows.count();
  Tensor<bf16> x(Tensor<bf16>::random(1, n * hidden)), residual(n * hidden), bias(Reals(hidden, 0)), y(n * hidden);
  Tensor<float> dbias(Reals(hidden, 0)), scratch(kernels::cuda::bias_residual_scratch(rows, hidden));
  kernels::cuda::bias_residual(
      {.rows = rows, .hidden = hidden, .x = x, .bias = bias, .dropout = dropout, .residual = residual, .y = y}, null_stream);
  expect_moved(kernels::cost::bias_residual(rows, hidden, 2), "bias_residual");
  kernels::cuda::dropout(rows, hidden, x, dropout, y, null_stream);
  expect_moved(kernels::cost::dropout(rows, hidden, 2), "dropout");
  kernels::cuda::dropout(rows, hidden, x, {}, x, null_stream);
  EXPECT_EQ(counters().launches, 0u);
  kernels::cuda::bias_residual_backward({.rows = rows, .hidden = hidden, .dy = x, .dropout = dropout, .dx = y, .dbias = dbias},
                                        scratch, null_stream);
  expect_moved(kernels::cost::bias_residual_backward(rows, hidden, 2), "backward");
  options() = {};
}

}  // namespace
}  // namespace trireme::simt
