// Training in bf16 and fp16, as a user starts it. Oracles: the same run in another layout, or without an interruption, where bits
// must be equal; by hand, what the loss scale does with overflows. validation/unit/train holds the numbers against float64.
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "validation/unit/support/layouts.h"
#include "validation/unit/support/overrides.h"
#include "validation/unit/support/run_files.h"

namespace trireme::test {
namespace {

using Words = std::vector<std::string>;

constexpr std::size_t loss_column = 3, validation_column = 4, norm_column = 5, scale_column = 7, skipped_column = 13;

/// A run of input/tiny.toml in a folder of its own; `words` override.
class Job {
 public:
  Job(const Folder& folder, const std::string& name, Words words)
      : directory_(folder / name),
        words_({"train", "input/tiny.toml", "run.directory=" + directory_, "run.final_weights=" + directory_ + ".safetensors"}) {
    words_ = with_values(words_, words);
  }
  Result start(const Layout& layout, const Words& more = {}) const {
    Words words = words_;
    for (const Words& others : {layout.overrides(), more}) words = with_values(words, others);
    return run(on_ranks(layout.tensor * layout.pipeline * layout.data, words));
  }
  std::vector<std::string> metric(std::size_t index) const { return column(read_text(directory_ + "/metrics.csv"), index); }
  std::vector<double> numbers(std::size_t index) const {
    std::vector<double> values;
    for (const std::string& cell : metric(index)) values.push_back(std::stod(cell));
    return values;
  }
  std::string weights() const { return read_text(directory_ + ".safetensors"); }
  std::string status() const { return read_text(directory_ + "/status"); }

 private:
  std::string directory_;
  Words words_;
};

void expect_equal(const Job& ours, const Job& theirs) {
  for (const std::size_t index : {loss_column, validation_column, norm_column, scale_column, skipped_column})
    EXPECT_EQ(ours.metric(index), theirs.metric(index)) << "column " << index;
  EXPECT_GT(theirs.weights().size(), 100000u);
  EXPECT_TRUE(ours.weights() == theirs.weights()) << "final weights differ";
}

const Layout serial{1, 1, 1, "1f1b"};

class Precision : public testing::TestWithParam<const char*> {
 protected:
  std::string compute() const { return std::string("precision.compute=") + GetParam(); }
  Folder folder_;
};
INSTANTIATE_TEST_SUITE_P(Types, Precision, testing::Values("bf16", "fp16"),
                         [](const auto& type) { return std::string(type.param); });

TEST_P(Precision, LayoutsThatDifferInStagesAndScheduleAloneGiveTheSameBits) {
  const Words words = {compute(), "run.steps=3", "model.dropout=0.1", "run.evaluate_every=3", "run.evaluate_samples=8"};
  const std::vector<std::vector<Layout>> groups = {{serial, {1, 2, 1, "gpipe"}, {1, 4, 1, "interleaved", 2}},
                                                   {{2, 1, 1, "1f1b"}, {2, 2, 1, "interleaved", 2}}};
  for (const std::vector<Layout>& group : groups)
    for (const Layout& layout : group) {
      SCOPED_TRACE(layout.name());
      const Job job(folder_, layout.name(), words);
      const Result result = job.start(layout);
      ASSERT_EQ(result.status, 0) << result.err;
      expect_equal(job, Job(folder_, group.front().name(), {}));
    }
}

/// The scale doubles every other step until it overflows: what it follows from must be in the checkpoint too.
TEST_P(Precision, GoesOnWithTheSameBitsInAnotherLayout) {
  Words words = {compute(), "run.steps=14", "checkpoint.every=3", "model.dropout=0.1"};
  const Words scaling = {"precision.initial_scale=1048576", "precision.growth_interval=2", "precision.hysteresis=2"};
  if (GetParam() == std::string("fp16")) words.insert(words.end(), scaling.begin(), scaling.end());
  const Job whole(folder_, "whole", words), parts(folder_, "parts", words);
  ASSERT_EQ(whole.start(serial).status, 0);
  const std::vector<std::pair<Layout, int>> starts = {{{1, 2, 1, "gpipe"}, 5}, {serial, 10}, {{1, 2, 1, "1f1b"}, 14}};
  for (const auto& [layout, steps] : starts) {
    const Result result = parts.start(layout, {fmt::format("run.steps={}", steps)});
    ASSERT_EQ(result.status, 0) << result.err;
  }
  expect_equal(parts, whole);
  if (GetParam() == std::string("fp16")) {
    EXPECT_GT(whole.numbers(skipped_column).back(), 0) << "no overflow: the test shows less than it should";
  }
}

/// Of a run that was in fp32 before and is so after: it reads what the others wrote, and stays near the run in fp32 alone. Both
/// round every activation, bf16 by 2^-8: the losses of 5 steps near 5.5 nats differ by less than that.
TEST_P(Precision, GoesOnFromFp32AndBack) {
  const Job exact(folder_, "exact", {"run.steps=15"}), mixed(folder_, "mixed", {});
  ASSERT_EQ(exact.start(serial).status, 0);
  ASSERT_EQ(mixed.start(serial, {"run.steps=5"}).status, 0);
  const Result there = mixed.start({1, 2, 1, "1f1b"}, {"run.steps=10", compute()});
  ASSERT_EQ(there.status, 0) << there.err;
  EXPECT_NE(there.out.find(fmt::format("precision.compute: \"fp32\" -> \"{}\"", GetParam())), std::string::npos) << there.out;
  ASSERT_EQ(mixed.start(serial, {"run.steps=15", "precision.compute=fp32"}).status, 0);
  const std::vector<double> ours = mixed.numbers(loss_column), theirs = exact.numbers(loss_column);
  ASSERT_EQ(ours.size(), 15u);
  for (std::size_t k = 0; k < 5; ++k) EXPECT_EQ(ours[k], theirs[k]) << k;
  EXPECT_NE(ours[7], theirs[7]) << "it is not fp32 that computed";
  for (std::size_t k = 5; k < 15; ++k) EXPECT_NEAR(ours[k], theirs[k], 0x1p-8 * theirs[k]) << k;
}

/// Masters that were rounded would lose every small update: most of them must have more digits than the compute type.
TEST_P(Precision, KeepsMastersInFp32) {
  const Job job(folder_, "run", {compute(), "run.steps=2"});
  ASSERT_EQ(job.start(serial).status, 0);
  const std::string weights = job.weights();
  std::size_t with_more = 0, all = 0;
  for (std::size_t at = weights.size() / 2 / 4 * 4; at + 4 <= weights.size();
       at += 4, ++all) {  // behind the header, aligned to 8
    std::uint32_t bits;
    std::memcpy(&bits, weights.data() + at, 4);
    with_more += (bits & 0x1fff) != 0 ? 1 : 0;  // fp16 has 13 bits fewer, bf16 16
  }
  EXPECT_GT(with_more, all / 2);
}

class Fp16 : public testing::Test {
 protected:
  Folder folder_;
};

TEST_F(Fp16, StepsThatOverflowAreSkippedUntilTheScaleFits) {
  const Job job(folder_, "run", {"precision.compute=fp16", "precision.initial_scale=268435456", "precision.hysteresis=1"});
  const Result result = job.start(serial);
  ASSERT_EQ(result.status, 0) << result.err;
  const std::vector<double> scales = job.numbers(scale_column), skipped = job.numbers(skipped_column);
  const std::vector<double> losses = job.numbers(loss_column);
  ASSERT_EQ(scales.size(), 20u);
  EXPECT_EQ(scales.front(), 268435456);
  for (std::size_t k = 1; k < scales.size(); ++k) {
    const double before = k == 1 ? 0 : skipped[k - 2];
    EXPECT_EQ(scales[k], skipped[k - 1] > before ? scales[k - 1] / 2 : scales[k - 1]) << "step " << k + 1;
  }
  EXPECT_GE(skipped.back(), 2);
  EXPECT_LE(skipped.back(), 12);
  EXPECT_FALSE(std::isfinite(job.numbers(norm_column).front()));
  EXPECT_LT(losses.back(), losses.front() - 0.1) << "it recovers";
  EXPECT_NE(result.out.find("  scale 268435456 skipped (1 so far)  "), std::string::npos) << result.out;
}

TEST_F(Fp16, EndsWithAdviceWhereTheSmallestScaleOverflowsAgainAndAgain) {
  const Job job(folder_, "run",
                {"precision.compute=fp16", "precision.initial_scale=4e12", "precision.minimum_scale=2e12",
                 "precision.hysteresis=1", "precision.maximum_skips=3"});
  const Result result = job.start({1, 2, 1, "1f1b"});
  EXPECT_EQ(result.status, 4) << result.out;
  EXPECT_EQ(job.numbers(skipped_column), (std::vector<double>{1, 2, 3, 4})) << "one at 4e12, three at 2e12";
  for (const char* part : {"step 4: 3 steps in a row were skipped at the smallest loss scale, 2000000000000:",
                           "the first is in microbatch", "precision.compute=bf16", "optimizer.learning_rate"})
    EXPECT_NE(result.err.find(part), std::string::npos) << part << " is not in " << result.err;
  EXPECT_EQ(job.status().substr(0, 1), "4") << job.status();
}

TEST_F(Fp16, AScaleThatIsGivenStays) {
  const Job job(folder_, "run", {"precision.compute=fp16", "precision.loss_scale=512", "run.steps=3"});
  ASSERT_EQ(job.start(serial).status, 0);
  EXPECT_EQ(job.numbers(scale_column), (std::vector<double>{512, 512, 512}));
  EXPECT_EQ(job.numbers(skipped_column), (std::vector<double>{0, 0, 0}));
}

}  // namespace
}  // namespace trireme::test
