// Matrix products' CUDA kernels in the simulator. Oracle: plain loops in double on the same rounded inputs. Tolerance: one
// rounding of the result, and one of fp32 for each product and sum.
#include <algorithm>

#include "kernels/cost.h"
#include "validation/unit/simt/fixture.h"
#include "validation/unit/simt/kernels/gemm_cases.h"

namespace trireme::simt {
namespace {

using SimtGemm = SimtTest;
TRIREME_IN_EVERY_ORDER(SimtGemm);

// Several tiles of each and a rest; odd everything; rows of whole quads that are no whole pieces; each dimension in turn summed
// over in two parts, or in three of which the last is short; one tile; less than a tile; many columns.
constexpr LinearShape shapes[] = {{130, 72, 136}, {33, 37, 129}, {9, 20, 12},   {17, 801, 7}, {801, 5, 131}, {20, 8, 544},
                                  {128, 64, 128}, {3, 544, 16},  {544, 16, 24}, {5, 8, 3},    {1, 1, 1},     {2, 7, 1030}};

template <class T>
void expect_all(LinearShape shape) {
  SCOPED_TRACE(testing::Message() << shape.rows << ' ' << shape.in << ' ' << shape.out);
  const bool odd = shape.rows % 2 == 1;
  EXPECT_TRUE(linear_is_right<T>(shape, odd));
  EXPECT_TRUE(linear_gelu_is_right<T>(shape));
  EXPECT_TRUE(linear_residual_is_right<T>({shape.rows, 1, 2}, shape.in, shape.out, 0.1f, odd));
  EXPECT_TRUE(input_gradient_is_right<T>(shape, false));
  EXPECT_TRUE(input_gradient_is_right<T>(shape, true));
  EXPECT_TRUE(weight_gradient_is_right<T>(shape, shape.in != 16));
}
TEST_P(SimtGemm, Bf16) {
  for (const LinearShape& shape : chosen(shapes, 6)) expect_all<bf16>(shape);
}
TEST_P(SimtGemm, Fp32) {
  for (const LinearShape& shape : chosen(shapes, 6)) expect_all<float>(shape);
}
TEST_P(SimtGemm, Fp16) {
  for (const LinearShape& shape : {LinearShape{9, 20, 131}, LinearShape{544, 8, 16}}) expect_all<fp16>(shape);
}

// Blocks go through groups of 16 rows of tiles: a whole one, and a rest.
TEST_P(SimtGemm, ManyRowsOfTiles) {
  EXPECT_TRUE(linear_is_right<bf16>({2200, 8, 132}, true));
  EXPECT_TRUE(linear_is_right<float>({1100, 4, 68}, true));
}

// Several samples, a slice of the sequence that does not begin at 0, columns that are no multiple of 4; in place and not.
TEST_P(SimtGemm, Dropout) {
  for (const bool same : {false, true})
    for (const float rate : {0.0f, 0.3f, 0.9f}) {
      EXPECT_TRUE(linear_residual_is_right<bf16>({7, 3, 11}, 24, 40, rate, same)) << rate;
      EXPECT_TRUE(linear_residual_is_right<float>({7, 3, 11}, 24, 39, rate, same)) << rate;
      EXPECT_TRUE(linear_residual_is_right<bf16>({7, 3, 11}, 520, 42, rate, same)) << rate << " in parts";
    }
}

TEST_P(SimtGemm, SlopesOfGeluFarFromZero) {
  EXPECT_TRUE(far_slopes_are_right<bf16>());
  EXPECT_TRUE(far_slopes_are_right<fp16>());
  EXPECT_TRUE(far_slopes_are_right<float>());
}

// Views that begin anywhere
template <class T>
bool shifted_is_right() {
  constexpr LinearShape shape{6, 16, 24};
  LinearCase<T> c(shape);
  Reals x = c.x_values;
  x.insert(x.begin(), 0);
  Tensor<T> later(x), y(6 * 24 + 1);
  View from = later, to = y;
  kernels::cuda::linear(shape, from.slice(1, 6 * 16), c.weight, {}, to.slice(1, 6 * 24), {}, null_stream);
  Reals expected = c.expected(false);
  const Reals got = y.reals();
  return close(Tensor<T>(Reals(got.begin() + 1, got.end())), expected, product_errors(16), "y");
}
TEST_P(SimtGemm, MemoryThatIsNotAligned) {
  EXPECT_TRUE(shifted_is_right<bf16>());
  EXPECT_TRUE(shifted_is_right<float>());
}

template <class T>
Reals gradients() {
  constexpr LinearShape shape{1100, 20, 12};
  Tensor<T> dy(Tensor<T>::random(1, 1100 * 12)), x(Tensor<T>::random(2, 1100 * 20));
  Tensor<float> dweight(Reals(240, 0)), dbias(Reals(12, 0));
  Scratch scratch(Gemm::weight_gradient, shape);
  kernels::cuda::linear_weight_gradient(shape, dy, x, dweight, dbias, scratch, null_stream);
  Reals all = dweight.reals();
  const Reals sums = dbias.reals();
  all.insert(all.end(), sums.begin(), sums.end());
  return all;
}
TEST_P(SimtGemm, DeterministicWhateverTheOrder) {
  const Reals here[] = {gradients<bf16>(), gradients<float>()};
  EXPECT_EQ(here[0], gradients<bf16>()) << "again";
  options().order = Order::ascending;
  EXPECT_EQ(here[0], gradients<bf16>());
  EXPECT_EQ(here[1], gradients<float>());
}

TEST_P(SimtGemm, NoRows) {  // a GPU takes no grid without blocks
  constexpr LinearShape shape{0, 16, 8};
  View none{nullptr, 0, kernels::DType::bf16};
  Tensor<bf16> weight(Tensor<bf16>::random(1, 8 * 16));
  Tensor<float> dweight(Reals(8 * 16, 5));
  for (const Gemm product : {Gemm::forward, Gemm::input_gradient, Gemm::weight_gradient})
    EXPECT_EQ(kernels::cuda::gemm_scratch(product, shape), 0);
  kernels::cuda::linear(shape, none, weight, {}, none, {}, null_stream);
  kernels::cuda::linear_residual(
      {.shape = shape, .rows = {0, 2, 0}, .x = none, .weight = weight, .bias = {}, .residual = none, .y = none}, {}, null_stream);
  kernels::cuda::linear_input_gradient_gelu(shape, none, weight, none, none, {}, null_stream);
  kernels::cuda::linear_weight_gradient(shape, none, none, dweight, {}, {}, null_stream);
  EXPECT_EQ(counters().launches, 0u);
  EXPECT_EQ(dweight.reals(), Reals(8 * 16, 5));
}

TEST(SimtGemmSplit, FollowsFromTheShape) {
  using kernels::cuda::gemm_scratch;
  EXPECT_EQ(gemm_scratch(Gemm::forward, {128, 511, 128}), 0) << "256 of k a part at least";
  EXPECT_EQ(gemm_scratch(Gemm::forward, {128, 512, 128}), 2 * 128 * 128);
  EXPECT_EQ(gemm_scratch(Gemm::input_gradient, {16, 8, 640}), 2 * 16 * 8);
  EXPECT_EQ(gemm_scratch(Gemm::weight_gradient, {640, 8, 16}), 2 * (8 * 16 + 16));
  EXPECT_EQ(gemm_scratch(Gemm::weight_gradient, {8192, 1024, 1024}), 4 * (1024 * 1024 + 1024)) << "64 tiles";
  EXPECT_EQ(gemm_scratch(Gemm::weight_gradient, {8192, 1024, 4096}), 0) << "256 tiles";
  EXPECT_EQ(gemm_scratch(Gemm::weight_gradient, {100000, 8, 8}), 241 * (8 * 8 + 8)) << "416 of k a part";
  Tensor<bf16> x(1024), weight(1024), y(4);
  EXPECT_THROW(kernels::cuda::linear({2, 512, 2}, x, weight, {}, y, {}, null_stream), std::logic_error) << "no scratch";
}

// Errors in units in the last place of the result, the median over its elements: 0.25 is that of rounding the exact result.
TEST(SimtGemmAccuracy, Bf16IsARoundingOfTheExactResult) {
  options() = {};
  for (const LinearShape& shape : {LinearShape{96, 256, 96}, LinearShape{48, 2048, 48}}) {
    LinearCase<bf16> c(shape);
    kernels::cuda::linear(shape, c.x, c.weight, c.bias, c.y, c.scratch, null_stream);
    const Reals exact = c.expected(), actual = c.y.reals();
    Reals ours, rounded;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const double unit = std::exp2(std::floor(std::log2(std::abs(exact[i]))) - 7);
      ours.push_back(std::abs(actual[i] - exact[i]) / unit);
      rounded.push_back(std::abs(real_of(rounded_to<bf16>(exact[i])) - exact[i]) / unit);
    }
    const auto median = [](Reals& v) {
      std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
      return v[v.size() / 2];
    };
    EXPECT_LE(median(ours), median(rounded) + 0.01) << shape.in;  // 2 would do
  }
}

// What gemm_cost declares against the sectors counted, flops, and no bank conflict: every form, whole and in parts.
class SimtGemmCost : public ::testing::Test {
 protected:
  SimtGemmCost() {
    options() = {};
    options().count = true;
    counters() = {};
  }
  ~SimtGemmCost() override { options() = {}; }

  static void expect_moved(const kernels::cost::Cost& declared, bool tensor_cores, const char* what) {
    EXPECT_NEAR(static_cast<double>(counters().moved_read + counters().moved_written) / declared.bytes, 1, 0.1) << what;
    EXPECT_EQ(counters().bank_conflicts, 0u) << what;
    const double flops = 2.0 * 16 * 8 * 16 * static_cast<double>(counters().matrix_products);
    EXPECT_EQ(flops, tensor_cores ? declared.flops : 0) << what;
    counters() = {};
  }

  /// Dimensions that are multiples of 128; two or more tiles of columns in each product
  template <class T>
  static void expect_all(LinearShape shape) {
    SCOPED_TRACE(testing::Message() << sizeof(T) << ": " << shape.rows << ' ' << shape.in << ' ' << shape.out);
    namespace cost = kernels::cost;
    const auto [rows, in, out] = shape;
    constexpr bool tensor_cores = sizeof(T) == 2;
    constexpr std::int64_t width = sizeof(T);
    const auto declared = [&, s = shape](Gemm product, const cost::Cost& whole) {
      return kernels::cuda::gemm_cost(product, s, whole);
    };
    LinearCase<T> c(shape);
    Tensor<T> dx(Tensor<T>::random(3, rows * in)), y(Tensor<T>::random(4, rows * out)), pre(rows * out);
    Tensor<float> dweight(Reals(c.weight_values.size(), 0)), dbias(Reals(c.bias_values.size(), 0));
    Scratch back(Gemm::input_gradient, shape), across(Gemm::weight_gradient, shape);
    kernels::cuda::linear(shape, c.x, c.weight, c.bias, c.y, c.scratch, null_stream);
    expect_moved(declared(Gemm::forward, cost::linear(shape, width)), tensor_cores, "linear");
    kernels::cuda::linear_gelu({.shape = shape, .x = c.x, .weight = c.weight, .bias = c.bias, .pre = pre, .y = c.y}, c.scratch,
                               null_stream);
    expect_moved(declared(Gemm::forward, cost::linear_gelu(shape, width)), tensor_cores, "with GELU");
    kernels::cuda::linear_residual({.shape = shape,
                                    .rows = {rows, 1, 0},
                                    .x = c.x,
                                    .weight = c.weight,
                                    .bias = c.bias,
                                    .dropout = {0.1f, 1, 0},
                                    .residual = y,
                                    .y = y},
                                   c.scratch, null_stream);
    expect_moved(declared(Gemm::forward, cost::linear_residual(shape, width)), tensor_cores, "with residual");
    kernels::cuda::linear_input_gradient_gelu(shape, c.y, c.weight, c.x, dx, back, null_stream);
    expect_moved(declared(Gemm::input_gradient, cost::linear_input_gradient_gelu(shape, width)), tensor_cores, "dpre");
    kernels::cuda::linear_input_gradient(shape, c.y, c.weight, dx, back, null_stream);
    expect_moved(declared(Gemm::input_gradient, cost::linear_input_gradient(shape, width)), tensor_cores, "dx");
    kernels::cuda::linear_weight_gradient(shape, c.y, c.x, dweight, dbias, across, null_stream);
    expect_moved(declared(Gemm::weight_gradient, cost::linear_weight_gradient(shape, width)), tensor_cores, "dweight");
  }
};

TEST_F(SimtGemmCost, Whole) {
  expect_all<bf16>({256, 256, 256});
  expect_all<float>({128, 128, 128});
}
TEST_F(SimtGemmCost, InParts) {
  expect_all<bf16>({512, 128, 128});
  expect_all<bf16>({128, 512, 128});
  expect_all<bf16>({128, 128, 512});
  expect_all<float>({512, 64, 64});
  expect_all<float>({64, 512, 512});
}

}  // namespace
}  // namespace trireme::simt
