// Matrix products' CUDA kernels in the simulator. Oracle: plain loops in double on the same rounded inputs. Tolerance: one
// rounding of the result, and one of fp32 for each product and sum.
#include "kernels/cost.h"
#include "validation/unit/simt_fixture.h"
#include "validation/unit/simt_gemm_cases.h"

namespace trireme::simt {
namespace {

using SimtGemm = SimtTest;
TRIREME_IN_EVERY_ORDER(SimtGemm);

// Several tiles of each; odd everything; less than a tile; one tile; more stages than tiles and fewer.
constexpr LinearShape shapes[] = {{130, 200, 136}, {33, 37, 129}, {5, 8, 3}, {128, 64, 128}, {1, 1, 1}, {64, 320, 40}};

template <class T>
void every_shape() {
  for (const LinearShape& shape : chosen(shapes))
    for (const bool with_gelu : {false, true})
      EXPECT_TRUE(linear_is_right<T>(shape, shape.in != 200, with_gelu)) << shape.rows << ' ' << shape.in << ' ' << shape.out;
}
TEST_P(SimtGemm, Bf16) { every_shape<bf16>(); }
TEST_P(SimtGemm, Fp16) { every_shape<fp16>(); }

TEST_P(SimtGemm, NoFp32) {
  Tensor<float> x(4), weight(4), y(4);
  EXPECT_THROW(kernels::cuda::linear({2, 2, 2}, x, weight, {}, y, nullptr), std::logic_error);
}

TEST(SimtGemmCost, BytesFlopsAndBanks) {
  options() = {};
  options().count = true;
  counters() = {};
  const LinearShape shape{256, 256, 256};
  Tensor<bf16> x(Tensor<bf16>::random(1, 256 * 256)), weight(Tensor<bf16>::random(2, 256 * 256)), bias(Reals(256, 1)),
      y(256 * 256);
  kernels::cuda::linear(shape, x, weight, bias, y, nullptr);
  const auto declared = kernels::cost::linear(shape, 2);
  EXPECT_NEAR(static_cast<double>(counters().moved_read + counters().moved_written) / declared.bytes, 1, 0.1);
  EXPECT_EQ(x.requested().read, 2 * x.bytes()) << "once for each of the two tiles of columns";
  EXPECT_EQ(static_cast<double>(counters().matrix_products) * 2 * 16 * 8 * 16, declared.flops);
  EXPECT_EQ(counters().bank_conflicts, 0u);
  options() = {};
}

}  // namespace
}  // namespace trireme::simt
