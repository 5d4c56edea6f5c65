// Cross-entropy over vocabulary ranges in the simulator. Oracle: plain loops in double on the same rounded logits, the whole
// vocabulary at once. Tolerance: one rounding of what is stored, and those of fp32 on the way.
#include "validation/unit/simt/fixture.h"
#include "validation/unit/simt/kernels/cross_entropy_cases.h"

namespace trireme::simt {
namespace {

using SimtCrossEntropy = SimtTest;
TRIREME_IN_EVERY_ORDER(SimtCrossEntropy);

// One token; scalar accesses; whole pieces with and without padding; a range of padding alone; more than a block reads at once.
const Slices shapes[] = {
    {{0, 1, 1}}, {{0, 7, 9}, {7, 33, 33}}, {{0, 64, 64}, {64, 61, 64}}, {{0, 8, 8}, {8, 0, 8}, {8, 3, 8}}, {{0, 16395, 16400}}};

Tokens spread_targets(const Slices& slices, std::size_t rows) {
  Tokens targets;
  for (std::size_t row = 0; row < rows; ++row)
    targets.push_back(static_cast<std::int32_t>(((row + 1) * static_cast<std::size_t>(vocabulary_of(slices)) - 1) / rows));
  return targets;
}

template <class T>
void every_shape() {
  for (const Slices& slices : chosen(shapes, 4)) {
    const std::int64_t rows = vocabulary_of(slices) > 1000 ? 2 : 5;
    EXPECT_TRUE(
        losses_are_right<T>(slices, random_logits<T>(slices, rows), spread_targets(slices, static_cast<std::size_t>(rows))))
        << "vocabulary " << vocabulary_of(slices);
  }
}
TEST_P(SimtCrossEntropy, Bf16) { every_shape<bf16>(); }
TEST_P(SimtCrossEntropy, Fp16) { every_shape<fp16>(); }
TEST_P(SimtCrossEntropy, Fp32) { every_shape<float>(); }

template <class T>
void extreme_rows() {
  const Slices slices{{0, 40, 40}, {40, 33, 40}};
  const Tokens targets{3, 72, 40};
  for (const double scale : {1e4, -1e4}) {  // far from zero, where exp would overflow without the shift; far from each other
    EXPECT_TRUE(losses_are_right<T>(slices, random_logits<T>(slices, 3, 1, scale), targets)) << scale;
    EXPECT_TRUE(losses_are_right<T>(slices, random_logits<T>(slices, 3, std::abs(scale)), targets)) << scale;
  }
  Reals one_hot(3 * 73, -INFINITY), spike(3 * 73, 0);
  for (std::size_t row = 0; row < 3; ++row) {
    const std::size_t target = row * 73 + static_cast<std::size_t>(targets[row]);
    one_hot[target] = 2;
    spike[target] = row == 1 ? -1e4 : 1e4;
  }
  EXPECT_TRUE(losses_are_right<T>(slices, one_hot, targets));
  EXPECT_TRUE(losses_are_right<T>(slices, Tensor<T>(spike).reals(), targets));
  EXPECT_TRUE(losses_are_right<T>(slices, Reals(3 * 73, 7), targets));  // all alike
}
TEST_P(SimtCrossEntropy, ExtremeRowsBf16) { extreme_rows<bf16>(); }
TEST_P(SimtCrossEntropy, ExtremeRowsFp16) { extreme_rows<fp16>(); }
TEST_P(SimtCrossEntropy, ExtremeRowsFp32) { extreme_rows<float>(); }

// A range without tokens has no maximum, sums of 0, and no gradient.
TEST_P(SimtCrossEntropy, PaddingAlone) {
  const kernels::VocabularyRange range{100, 0, 40};
  Tensor<bf16> logits(Reals(80, 3));
  DeviceBuffer<std::int32_t> targets(Tokens{100, 120});
  const View target_view{targets.data(), 2, kernels::DType::int32};
  Tensor<float> maximum(2), all_maximum(Reals(2, 1)), sums(2), of_targets(2), losses(2), all_sums(Reals(2, 5));
  kernels::cuda::cross_entropy_maximum(2, logits, range, maximum, null_stream);
  EXPECT_EQ(maximum.reals(), Reals(2, -INFINITY));
  kernels::cuda::cross_entropy_sums({.rows = 2,
                                     .logits = logits,
                                     .range = range,
                                     .targets = target_view,
                                     .maximum = all_maximum,
                                     .sums = sums,
                                     .target_logits = of_targets},
                                    null_stream);
  EXPECT_EQ(sums.reals(), Reals(2, 0));
  EXPECT_EQ(of_targets.reals(), Reals(2, 0));
  EXPECT_EQ(logits.reals(), Reals(80, 0));
  kernels::cuda::cross_entropy_gradient({.rows = 2,
                                         .logits = logits,
                                         .range = range,
                                         .targets = target_view,
                                         .sums = all_sums,
                                         .target_logits = of_targets,
                                         .scale = 1,
                                         .losses = losses},
                                        null_stream);
  EXPECT_EQ(logits.reals(), Reals(80, 0));
}

TEST_P(SimtCrossEntropy, RangeWithoutMemory) {
  const kernels::VocabularyRange range{100, 0, 0};
  const View logits{nullptr, 0, kernels::DType::bf16};
  DeviceBuffer<std::int32_t> targets(Tokens{100, 120});
  const View target_view{targets.data(), 2, kernels::DType::int32};
  Tensor<float> maximum(2), sums(2), of_targets(2);
  kernels::cuda::cross_entropy_maximum(2, logits, range, maximum, null_stream);
  EXPECT_EQ(maximum.reals(), Reals(2, -INFINITY));
  kernels::cuda::cross_entropy_sums({.rows = 2,
                                     .logits = logits,
                                     .range = range,
                                     .targets = target_view,
                                     .maximum = maximum,
                                     .sums = sums,
                                     .target_logits = of_targets},
                                    null_stream);
  EXPECT_EQ(sums.reals(), Reals(2, 0));
  EXPECT_EQ(of_targets.reals(), Reals(2, 0));
}

// A target that cannot be: an infinite loss; a logit that is not a number: a loss that is none. Neither is hidden.
TEST_P(SimtCrossEntropy, NonFinite) {
  const kernels::VocabularyRange range{0, 3, 3};
  Tensor<float> logits(Reals{0, 1, -INFINITY, 0, std::nan(""), 1}), maximum(2), sums(2), of_targets(2), losses(2);
  DeviceBuffer<std::int32_t> targets(Tokens{2, 0});
  const View target_view{targets.data(), 2, kernels::DType::int32};
  kernels::cuda::cross_entropy_maximum(2, logits, range, maximum, null_stream);
  kernels::cuda::cross_entropy_sums({.rows = 2,
                                     .logits = logits,
                                     .range = range,
                                     .targets = target_view,
                                     .maximum = maximum,
                                     .sums = sums,
                                     .target_logits = of_targets},
                                    null_stream);
  kernels::cuda::cross_entropy_gradient({.rows = 2,
                                         .logits = logits,
                                         .range = range,
                                         .targets = target_view,
                                         .sums = sums,
                                         .target_logits = of_targets,
                                         .scale = 1,
                                         .losses = losses},
                                        null_stream);
  EXPECT_EQ(losses.reals()[0], INFINITY);
  EXPECT_TRUE(std::isnan(losses.reals()[1]));
}

TEST(SimtCrossEntropyCost, BytesMoved) {
  options() = {};
  options().count = true;
  counters() = {};
  constexpr std::int64_t rows = 16;
  const kernels::VocabularyRange range{0, 2040, 2048};
  Tensor<bf16> logits(Tensor<bf16>::random(1, rows * range.rows));
  Tensor<float> maximum(rows), sums(rows), of_targets(rows), losses(rows);
  DeviceBuffer<std::int32_t> targets(Tokens(rows, 5));
  const View target_view{targets.data(), rows, kernels::DType::int32};
  kernels::cuda::cross_entropy_maximum(rows, logits, range, maximum, null_stream);
  expect_moved(kernels::cost::cross_entropy_maximum(rows, range, 2), "maximum");
  kernels::cuda::cross_entropy_sums({.rows = rows,
                                     .logits = logits,
                                     .range = range,
                                     .targets = target_view,
                                     .maximum = maximum,
                                     .sums = sums,
                                     .target_logits = of_targets},
                                    null_stream);
  expect_moved(kernels::cost::cross_entropy_sums(rows, range, 2), "sums");
  kernels::cuda::cross_entropy_gradient({.rows = rows,
                                         .logits = logits,
                                         .range = range,
                                         .targets = target_view,
                                         .sums = sums,
                                         .target_logits = of_targets,
                                         .scale = 1,
                                         .losses = losses},
                                        null_stream);
  expect_moved(kernels::cost::cross_entropy_gradient(rows, range, 2), "gradient");
  EXPECT_EQ(logits.requested().read, 2 * logits.bytes() + 16u * 2040u * 2u);  // each row once a step
  options() = {};
}

}  // namespace
}  // namespace trireme::simt
