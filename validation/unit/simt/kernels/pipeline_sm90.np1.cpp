// The pipelined product of Hopper in the simulator. Oracle: plain loops in double on the same rounded inputs. Tolerance: one
// rounding of the result, and one of fp32 for each product and sum.
#include <functional>

#include "validation/unit/simt/fixture.h"
#include "validation/unit/simt/kernels/pipeline_sm90_cases.h"

namespace trireme::simt {
namespace {

using SimtPipelineSm90 = SimtTest;
TRIREME_IN_EVERY_ORDER(SimtPipelineSm90);

// One tile; ragged in every dimension; fewer steps than stages and more; several tiles a block, and blocks without one.
TEST_P(SimtPipelineSm90, EveryShape) {
  EXPECT_TRUE(pipelined_is_right({128, 64, 128}, 1));
  EXPECT_TRUE(pipelined_is_right({1, 8, 8}, 4));
  EXPECT_TRUE(pipelined_is_right({70, 200, 40}, 1));
  EXPECT_TRUE(pipelined_is_right({150, 136, 264}, 2));
}

TEST_P(SimtPipelineSm90, RowsThatTmaCannotTakeAreRefused) {
  try {
    pipelined_is_right({8, 12, 8}, 1);
    ADD_FAILURE() << "rows of 24 bytes were taken";
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(), "tensor map: the stride of 24 bytes of dimension 1 is not a multiple of 16 below 2^40");
  }
}

TEST(SimtPipelineSm90Cost, BytesFlopsAndBanks) {
  options() = {};
  options().count = true;
  counters() = {};
  const LinearShape shape{256, 128, 256};
  Tensor<bf16> x(Tensor<bf16>::random(1, 256 * 128)), weight(Tensor<bf16>::random(2, 256 * 128)), y(256 * 256);
  kernels::cuda::linear_pipelined(shape, x, weight, y, {nullptr, 90, 3});
  EXPECT_EQ(counters().moved_read, 2u * 256 * 128 * 2) << "x and the weight, each byte once";
  EXPECT_EQ(counters().moved_written, 256u * 256 * 2);
  EXPECT_EQ(x.requested().read, 2 * x.bytes()) << "once for each of the two tiles of columns";
  EXPECT_EQ(counters().matrix_products * 2 * 16 * 8 * 16, 2u * 256 * 128 * 256);
  EXPECT_EQ(counters().bank_conflicts, 0u);
  options() = {};
}

}  // namespace
}  // namespace trireme::simt
