// Every operand of every launcher once begins an element late, aligned as an element is and no better. Oracle: that of the
// kernel's own test; a misaligned access is the simulator's report.
#include "validation/unit/simt/fixture.h"
#include "validation/unit/simt/kernels/operands_cases.h"

namespace trireme::simt {
namespace {

class SimtOperands : public ::testing::Test {
 protected:
  SimtOperands() {
    options() = {};
    counters() = {};
  }
};

TEST_F(SimtOperands, OfLayerNorm) { EXPECT_TRUE(every_operand_shifted(operands::layer_norm)); }
TEST_F(SimtOperands, OfWhatFollowsAProduct) { EXPECT_TRUE(every_operand_shifted(operands::residual)); }
TEST_F(SimtOperands, OfProducts) { EXPECT_TRUE(every_operand_shifted(operands::linear)); }
TEST_F(SimtOperands, OfTheirGradients) { EXPECT_TRUE(every_operand_shifted(operands::linear_gradients)); }
TEST_F(SimtOperands, OfAttention) { EXPECT_TRUE(every_operand_shifted(operands::attention)); }
TEST_F(SimtOperands, OfItsGradients) { EXPECT_TRUE(every_operand_shifted(operands::attention_backward)); }
TEST_F(SimtOperands, OfCrossEntropy) { EXPECT_TRUE(every_operand_shifted(operands::cross_entropy)); }
TEST_F(SimtOperands, OfTheEmbedding) { EXPECT_TRUE(every_operand_shifted(operands::embedding)); }
TEST_F(SimtOperands, OfTheOptimizer) { EXPECT_TRUE(every_operand_shifted(operands::optimizer)); }
TEST_F(SimtOperands, OfTheProductByTma) { EXPECT_TRUE(every_operand_shifted(operands::pipeline)); }

TEST_F(SimtOperands, AreCountedAndShifted) {
  static bool aligned[2];
  int made = 0;
  const auto check = [] {
    DeviceBuffer<float> first(8), second(8);
    aligned[0] = kernels::cuda::aligned16(first.data());
    aligned[1] = kernels::cuda::aligned16(second.data());
    return true;
  };
  EXPECT_TRUE(shifted_is_right(check, 1, made));
  EXPECT_EQ(made, 2);
  EXPECT_TRUE(aligned[0]);
  EXPECT_FALSE(aligned[1]);
  EXPECT_TRUE(every_operand_shifted(check));
  EXPECT_TRUE(aligned[0]) << "the last turn was the second one's";
}

TEST_F(SimtOperands, OneThatIsRefusedIsNamed) {
  constexpr kernels::Rows rows{3, 2, 0};
  DeviceBuffer<std::int32_t> tokens(tokens_around(operands::range, 6)), scratch(13);
  Tensor<bf16> dy(6 * 32);
  Tensor<float> dtable(16 * 32);
  try {
    kernels::cuda::embedding_backward({.rows = rows,
                                       .hidden = 32,
                                       .tokens = view_of(tokens),
                                       .dy = dy,
                                       .range = operands::range,
                                       .dtable = dtable,
                                       .dpositions = {}},
                                      view_of(scratch).slice(1, 12), null_stream);
    FAIL() << "scratch at an odd element was taken";
  } catch (const std::invalid_argument& e) {
    EXPECT_EQ(std::string(e.what()), "embedding_backward takes scratch that begins at a multiple of 8 bytes");
  }
  EXPECT_EQ(counters().launches, 0u) << "nothing runs before the refusal";
}

}  // namespace
}  // namespace trireme::simt
