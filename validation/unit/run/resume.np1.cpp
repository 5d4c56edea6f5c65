// A run that was killed, and went on, is the run that was not: the same bits. Oracle: the uninterrupted run.
#include <random>

#include <gtest/gtest.h>

#include "data/token_writer.h"
#include "validation/unit/support/file_faults.h"
#include "validation/unit/support/layouts.h"
#include "validation/unit/support/overrides.h"
#include "validation/unit/support/run_files.h"

namespace trireme::test {
namespace {

/// Steps of a run; N = 40 samples of B = 16, so that epochs end within steps, and after 2.5, 5, 7.5, 10 of them.
constexpr int steps = 12;

/// A run of input/tiny.toml on few shuffled samples, with dropout.
class Job {
 public:
  Job(const Folder& folder, const std::string& name, const Layout& layout, std::vector<std::string> more = {})
      : folder_(folder), name_(name), ranks_(layout.tensor * layout.pipeline * layout.data), words_(layout.overrides()) {
    for (const char* value : {"data.synthetic=false", "data.shuffle=true", "model.dropout=0.1", "checkpoint.every=4"})
      words_.push_back(value);
    words_.push_back("data.tokens=" + folder / "tokens");
    words_.push_back(fmt::format("run.steps={}", steps));
    words_ = with_values(words_, more);
  }

  std::string directory() const { return folder_ / name_; }
  std::vector<std::string> command(const std::vector<std::string>& environment = {}) const {
    std::vector<std::string> words = {"train", "input/tiny.toml", "run.directory=" + directory(),
                                      "run.final_weights=" + directory() + ".safetensors"};
    words.insert(words.end(), words_.begin(), words_.end());
    std::vector<std::string> all = on_ranks(ranks_, words);
    all.insert(all.begin(), environment.begin(), environment.end());
    return all;
  }
  Result finish() const { return run(command()); }
  std::string metrics() const { return read_text(directory() + "/metrics.csv"); }

  /// Kills `victims` of the ranks (the launcher ends the others) once the row of `step` is written; returns the last step that
  /// was.
  int kill_after(int step, std::size_t victims) const {
    const Folder outputs;
    Process process(command(), outputs);
    EXPECT_TRUE(reaches(directory(), step));
    const auto pids = ranks_of(directory());
    for (std::size_t k = 0; k < std::min(victims, pids.size()); ++k) kill(pids[k], SIGKILL);
    process.wait(30);
    const auto written = column(metrics(), 0);
    return written.empty() ? 0 : std::stoi(written.back());
  }

 private:
  const Folder& folder_;
  std::string name_;
  int ranks_;
  std::vector<std::string> words_;
};

class Resume : public testing::Test {
 protected:
  Resume() {
    data::TokenWriter writer(folder_ / "tokens", 256);
    std::vector<std::int32_t> ids(40 * 32 + 1);
    std::mt19937 random(7);
    for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random() % 256);
    writer.append(ids);
    writer.end_document();
    writer.finish();
  }

  /// Equal step, loss, gradient norm and learning rate in all rows, and equal final weights.
  static void expect_equal(const Job& ours, const Job& whole) {
    for (const std::size_t index : {0, 1, 2, 3, 5, 6})
      EXPECT_EQ(column(ours.metrics(), index), column(whole.metrics(), index)) << "column " << index;
    EXPECT_EQ(column(ours.metrics(), 0).size(), static_cast<std::size_t>(steps));
    const std::string weights = read_text(whole.directory() + ".safetensors");
    EXPECT_GT(weights.size(), 100000u);
    EXPECT_TRUE(read_text(ours.directory() + ".safetensors") == weights) << "final weights differ";
  }

  Folder folder_;
};

TEST_F(Resume, IsBitwiseTheUninterruptedRunInEverySchedule) {
  const std::vector<Layout> all = {{1, 2, 2, "gpipe"}, {2, 2, 1, "1f1b"}, {1, 2, 2, "interleaved", 2}};
  for (const Layout& layout : all) {
    SCOPED_TRACE(layout.name());
    const Job whole(folder_, "whole-" + layout.schedule, layout);
    ASSERT_EQ(whole.finish().status, 0);
    for (const int step : {3, 4, 6, 9}) {  // before a save, at it, while it may be under way, after two
      SCOPED_TRACE(fmt::format("killed after step {}", step));
      const Job killed(folder_, fmt::format("killed-{}-{}", layout.schedule, step), layout);
      killed.kill_after(step, 4);
      const Result result = killed.finish();
      ASSERT_EQ(result.status, 0) << result.err;
      expect_equal(killed, whole);
    }
  }
}

TEST_F(Resume, GoesOnInAnotherLayoutOfTheSameTensorAndDataRanksWithTheSameBits) {
  const Job whole(folder_, "whole", {1, 2, 2, "1f1b"});
  ASSERT_EQ(whole.finish().status, 0);
  const Job before(folder_, "moved", {1, 2, 2, "1f1b"}, {"run.steps=5"});
  ASSERT_EQ(before.finish().status, 0);
  const Job after(folder_, "moved", {1, 4, 2, "gpipe"});
  const Result result = after.finish();
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("resumed from step 5"), std::string::npos);
  EXPECT_NE(result.out.find("parallel.pipeline: 2 -> 4"), std::string::npos);
  expect_equal(after, whole);
}

/// One rank or all, at random moments; then it goes on by itself, again and again until all steps are done.
TEST_F(Resume, SurvivesRandomKills) {
  const int kills = std::getenv("TRIREME_LONG") ? 200 : 20;
  const Layout layout{1, 2, 1, "1f1b"};
  const Job whole(folder_, "whole", layout, {"checkpoint.every=1"});
  ASSERT_EQ(whole.finish().status, 0);
  std::mt19937 random(20261130);
  for (int done = 0, round = 0; done < kills; ++round) {
    SCOPED_TRACE(fmt::format("round {}", round));
    const Job killed(folder_, fmt::format("killed-{}", round), layout, {"checkpoint.every=1"});
    for (int last = 0; last < steps - 1 && done < kills; ++done)
      last = killed.kill_after(std::min<int>(steps - 1, last + 1 + static_cast<int>(random() % 4)), 1 + random() % 2);
    const Result result = killed.finish();
    ASSERT_EQ(result.status, 0) << result.err;
    expect_equal(killed, whole);
    const Result verified = run({program().string(), "checkpoint", "verify", killed.directory()});
    EXPECT_EQ(verified.status, 0) << verified.out << verified.err;
    fs::remove_all(killed.directory());
  }
}

/// Runs with one fault each, at the changes of the disk 1, 1 + stride, ... of every rank, until a run has fewer of them; after
/// each the run goes on and is whole. Returns how many faults were met.
class FaultsOfADisk : public Resume {
 protected:
  int meet(const std::string& calls, const std::vector<int>& statuses) {
    const int stride = std::getenv("TRIREME_LONG") ? 1 : short_stride;
    for (int n = 1, met = 0;; n += stride, ++met) {
      SCOPED_TRACE(fmt::format("{} at change {}", calls, n));
      const Job job(folder_, fmt::format("fault-{}", n), {1, 2, 1, "1f1b"},
                    {"checkpoint.every=2", "checkpoint.keep=1", "run.steps=6", "model.layers=2"});
      const std::string told = folder_ / "told";
      const Result faulty = run(with_faults(job.command(), {.calls = calls, .under = job.directory(), .at = n, .told = told}));
      if (!fs::exists(told)) return met;
      fs::remove(told);
      EXPECT_TRUE(std::count(statuses.begin(), statuses.end(), faulty.status)) << faulty.status << faulty.out << faulty.err;
      expect_goes_on(job);
      if (HasFailure()) return met;
    }
  }

 private:
  static constexpr int short_stride = 397;

  static void expect_goes_on(const Job& job) {
    const Result result = job.finish();
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(column(job.metrics(), 0), (std::vector<std::string>{"1", "2", "3", "4", "5", "6"}));
    const Result verified = run({program().string(), "checkpoint", "verify", job.directory()});
    EXPECT_EQ(verified.status, 0) << verified.out << verified.err;
    for (const auto& entry : fs::recursive_directory_iterator(job.directory()))
      EXPECT_FALSE(entry.path().extension() == ".partial" || entry.path().extension() == ".deleting") << entry.path();
    fs::remove_all(job.directory());
  }
};

/// On all ranks at once.
TEST_F(FaultsOfADisk, ACrashAtAnyChangeOfTheDiskIsSurvived) { EXPECT_GT(meet(killed, {128 + SIGKILL, 9}), 2); }

/// The run says so and goes on or ends; never for want of a file that it can do without.
TEST_F(FaultsOfADisk, AFailureOfAnyChangeOfTheDiskIsSurvived) { EXPECT_GT(meet(fails_with("change", ENOSPC), {0, 1, 2}), 2); }

}  // namespace
}  // namespace trireme::test
