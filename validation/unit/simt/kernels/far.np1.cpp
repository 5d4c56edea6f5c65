// The vocabulary's kernels on matrices of more than 2^31 elements, of which a few rows are touched. Oracle: the last row's
// numbers in double.
#include <fstream>
#include <string>

#include "validation/unit/simt/fixture.h"
#include "validation/unit/simt/kernels/far_cases.h"

namespace trireme::simt {
namespace {

using SimtFar = SimtTest;
TRIREME_IN_EVERY_ORDER(SimtFar);

static_assert(far_rows * far_columns > std::int64_t{1} << 31);

TEST_P(SimtFar, CrossEntropy) {
  EXPECT_TRUE(far_losses_are_right<bf16>());
  EXPECT_TRUE(far_losses_are_right<float>());
}
TEST_P(SimtFar, Embedding) {
  EXPECT_TRUE(far_embedding_is_right<bf16>());
  EXPECT_TRUE(far_embedding_is_right<float>());
}
TEST_P(SimtFar, GradientOfTheEmbedding) {
  EXPECT_TRUE(far_embedding_gradient_is_right<bf16>());
  EXPECT_TRUE(far_embedding_gradient_is_right<float>());
}

// The largest of these matrices has 8 GiB.
TEST_P(SimtFar, TakesLittleMemory) {
  EXPECT_TRUE(far_losses_are_right<float>());
  std::ifstream status("/proc/self/status");
  std::int64_t kilobytes = 0;
  for (std::string word; status >> word;)
    if (word == "VmHWM:") status >> kilobytes;
  EXPECT_LT(kilobytes, 1 << 20) << "KiB were resident";
}

}  // namespace
}  // namespace trireme::simt
