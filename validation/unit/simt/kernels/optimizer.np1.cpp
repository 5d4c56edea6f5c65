// The optimizer's CUDA kernels in the simulator. Oracle: plain loops in double. Tolerance: roundings of fp32 for AdamW, of double
// for the sums; the copy, casts and counts are exact.
#include "validation/unit/simt/fixture.h"
#include "validation/unit/simt/kernels/optimizer_cases.h"

namespace trireme::simt {
namespace {

using SimtOptimizer = SimtTest;
TRIREME_IN_EVERY_ORDER(SimtOptimizer);

constexpr std::int64_t sizes[] = {1, 4, 7, 1024, 2051};  // less than a quad, one, a rest, one block, several blocks

template <class T>
void every_size() {
  for (const std::int64_t n : sizes)
    for (const std::int64_t offset : {0, 3}) {
      EXPECT_TRUE(adamw_is_right<T>(n, offset)) << n << " after " << offset;
      EXPECT_TRUE(adamw_is_right<T>(n, offset, false)) << n << " after " << offset << ", without copy";
    }
}
TEST_P(SimtOptimizer, AdamWBf16) { every_size<bf16>(); }
TEST_P(SimtOptimizer, AdamWFp16) { every_size<fp16>(); }
TEST_P(SimtOptimizer, AdamWFp32) { every_size<float>(); }

TEST_P(SimtOptimizer, AdamWChangesNothingWhereTheStepIsSkipped) { EXPECT_TRUE(skipped_step_changes_nothing(2051)); }
TEST_P(SimtOptimizer, ClipFormsNormScaleAndDecision) { EXPECT_TRUE(clip_is_right()); }

TEST_P(SimtOptimizer, CellsAreAddedInTheirOrder) {
  Cells total({1e17, 2}), more({8, 3}), cells({1e17, 8, 8, -1e17}), result({-1});
  kernels::cuda::add(total, more, null_stream);
  EXPECT_EQ(total.reals(), (Reals{1e17, 5}));
  kernels::cuda::sum(cells, result, {}, null_stream);
  EXPECT_EQ(result.reals(), Reals{0});
}

TEST_P(SimtOptimizer, Add) {
  for (const std::int64_t n : sizes)
    for (const std::int64_t offset : {0, 1}) {
      const Reals before = Tensor<float>::random(1, n + offset), added = Tensor<float>::random(2, n + offset);
      Tensor<float> y(before), x(added);
      Reals expected = before;
      for (std::size_t i = static_cast<std::size_t>(offset); i < expected.size(); ++i) expected[i] += added[i];
      kernels::cuda::add(from(y, offset), from(x, offset), null_stream);
      EXPECT_TRUE(close(y, expected, 0, "y")) << n;
    }
}

template <class T>
void both_ways() {
  for (const std::int64_t n : sizes)
    for (const std::int64_t offset : {0, 1}) {
      Reals values = Tensor<float>::random(1, n + offset, 3), untouched(values.size(), 5), expected = untouched;
      values.back() = -INFINITY, values[static_cast<std::size_t>(offset)] = 1e6;  // beyond fp16
      for (std::size_t i = static_cast<std::size_t>(offset); i < values.size(); ++i)
        expected[i] = real_of(rounded_to<T>(values[i]));
      Tensor<float> wide(values), back(untouched);
      Tensor<T> narrow(untouched);
      kernels::cuda::cast(from(narrow, offset), from(wide, offset), null_stream);
      EXPECT_EQ(narrow.reals(), expected) << n;
      kernels::cuda::cast(from(back, offset), from(narrow, offset), null_stream);
      EXPECT_EQ(back.reals(), expected) << n;
    }
}
TEST_P(SimtOptimizer, CastsBf16) { both_ways<bf16>(); }
TEST_P(SimtOptimizer, CastsFp16) { both_ways<fp16>(); }

TEST_P(SimtOptimizer, Sums) {
  for (const std::int64_t n : {1, 7, 1024, 8191, 8192, 16384, 70001})
    for (const std::int64_t offset : {0, 1}) EXPECT_TRUE(sums_are_right(n, offset)) << n << " after " << offset;
}
TEST_P(SimtOptimizer, CountsWhatIsNotFiniteInEveryType) {
  for (const std::int64_t n : {1, 1030, 9000})
    for (const std::int64_t offset : {0, 1})
      EXPECT_TRUE(count_is_right<float>(n, offset) && count_is_right<bf16>(n, offset) && count_is_right<fp16>(n, offset))
          << n << " after " << offset;
}

TEST_P(SimtOptimizer, SumsOfMorePartsThanTheLastBlockHasThreads) { EXPECT_TRUE(sums_are_right(260 * 8192, 0)); }

TEST_P(SimtOptimizer, NothingAtAll) {
  View none{nullptr, 0, kernels::DType::fp32};
  const std::uint64_t before = counters().launches;
  Cells record(record_of(1));
  kernels::cuda::adamw(step_with(record), none, none, none, none, {}, null_stream);
  kernels::cuda::add(none, none, null_stream);
  EXPECT_EQ(counters().launches, before);
  Tensor<float> x(1);
  EXPECT_TRUE(sum_is_right(kernels::cuda::sum, x, 1, 0, 0));
}

TEST_P(SimtOptimizer, DeterministicWhateverTheOrder) {
  const auto norm = [] {
    Tensor<float> x(Tensor<float>::random(1, 40001));
    DeviceBuffer<double> scratch(static_cast<std::size_t>(kernels::cuda::sum_scratch(40001))), result(1);
    kernels::cuda::squared_norm(x, {result.data(), 1, kernels::DType::fp64},
                                {scratch.data(), static_cast<std::int64_t>(scratch.size()), kernels::DType::fp64}, null_stream);
    return result[0];
  };
  const double here = norm();
  options().order = Order::ascending;
  EXPECT_EQ(here, norm());
}

TEST(SimtOptimizerCost, BytesMoved) {
  options() = {};
  options().count = true;
  counters() = {};
  constexpr std::int64_t n = 20000;
  Tensor<float> w(Reals(n, 1)), g(Reals(n, 1)), m(Reals(n, 1)), v(Reals(n, 1));
  Tensor<bf16> copy(n);
  DeviceBuffer<double> scratch(static_cast<std::size_t>(kernels::cuda::sum_scratch(n))), result(1);
  const View parts{scratch.data(), static_cast<std::int64_t>(scratch.size()), kernels::DType::fp64};
  Cells record(record_of(1));
  kernels::cuda::adamw(step_with(record), w, g, m, v, copy, null_stream);
  expect_moved(kernels::cost::adamw(n, 2), "adamw");
  kernels::cuda::adamw(step_with(record), w, g, m, v, {}, null_stream);
  expect_moved(kernels::cost::adamw(n), "adamw in fp32");
  kernels::cuda::add(w, g, null_stream);
  expect_moved(kernels::cost::add(n), "add");
  kernels::cuda::cast(copy, w, null_stream);
  expect_moved(kernels::cost::cast(n, 2), "cast");
  kernels::cuda::squared_norm(w, {result.data(), 1, kernels::DType::fp64}, parts, null_stream);
  expect_moved(kernels::cost::squared_norm(n), "squared_norm");
  kernels::cuda::sum(w, {result.data(), 1, kernels::DType::fp64}, parts, null_stream);
  expect_moved(kernels::cost::sum(n), "sum");
  kernels::cuda::non_finite_count(w, {result.data(), 1, kernels::DType::fp64}, parts, null_stream);
  expect_moved(kernels::cost::non_finite_count(n), "non_finite_count");
  options() = {};
}

}  // namespace
}  // namespace trireme::simt
