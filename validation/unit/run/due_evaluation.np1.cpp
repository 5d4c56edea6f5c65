// An evaluation that is due is in metrics.csv, whatever ended the run at its step. Oracle: the run that was not ended.
#include <functional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "validation/unit/support/overrides.h"
#include "validation/unit/support/run_files.h"

namespace trireme::test {
namespace {

constexpr std::size_t validation_loss = 4;  // column of metrics.csv

/// Evaluates after every step, so that any end meets one that is due. A step takes a while, so that there are few.
Words command(const std::string& run, const Words& more) {
  Words words = {"train",          "input/tiny.toml",  "run.directory=" + run,   "run.evaluate_every=1",
                 "model.layers=2", "batch.global=256", "run.evaluate_samples=16"};
  return on_ranks(2, with_values(words, more));
}

int rows(const std::string& run) { return static_cast<int>(column(read_text(run + "/metrics.csv"), 0).size()); }

const std::string endless = "run.steps=1000000";

bool saved(const std::string& run) { return read_text(run + "/status").find("saved at step") != std::string::npos; }

/// Starts a run without an end, which `ask` ends once it has taken a step.
void end(const std::string& run, const std::function<void()>& ask) {
  SCOPED_TRACE(run);
  const Folder outputs;
  Process process(command(run, {endless}), outputs);
  ASSERT_TRUE(reaches(run, 1));
  ask();
  const Result ended = process.wait(60);
  ASSERT_TRUE(saved(run)) << ended.err;
}

/// The limit counts from before MPI starts: where a busy machine leaves no time for a step, the next one is longer.
void end_by_time(const std::string& run) {
  for (const char* limit : {"0:03", "0:10", "0:30", "1:30"})
    if (!saved(run)) test::run(command(run, {endless, std::string("run.time_limit=") + limit}), 180);
  ASSERT_TRUE(saved(run)) << read_text(run + "/status");
}

/// One step more.
void go_on(const std::string& run) {
  SCOPED_TRACE(run);
  fs::remove(run + "/STOP");
  const Result again = test::run(command(run, {fmt::format("run.steps={}", rows(run) + 1)}));
  ASSERT_EQ(again.status, 0) << again.err;
}

TEST(DueEvaluation, IsMadeUpForWhenTheRunGoesOn) {
  const Folder folder;
  const std::string by_signal = folder / "signal", by_file = folder / "file", by_time = folder / "time", whole = folder / "whole";
  end(by_signal, [&] { kill(ranks_of(by_signal).back(), SIGTERM); });
  end(by_file, [&] { std::ofstream(by_file + "/STOP") << ""; });
  end_by_time(by_time);
  for (const std::string& run : {by_signal, by_file, by_time}) go_on(run);
  const int steps = std::max({rows(by_signal), rows(by_file), rows(by_time)});
  ASSERT_EQ(test::run(command(whole, {fmt::format("run.steps={}", steps)})).status, 0);
  for (const std::string& run : {by_signal, by_file, by_time})
    for (const std::size_t k : {std::size_t{0}, std::size_t{3}, validation_loss}) {
      auto expected = column(read_text(whole + "/metrics.csv"), k);
      expected.resize(static_cast<std::size_t>(rows(run)));
      EXPECT_EQ(column(read_text(run + "/metrics.csv"), k), expected) << run << " column " << k;
    }
}

/// The only step takes a second or more; the signal comes while it runs. If it came later, on a busy machine, then the step's own
/// line has the loss, and the run is done once more.
TEST(DueEvaluation, OfTheLastStepIsDoneAfterItsSave) {
  const Folder folder;
  const std::string run = folder / "run", whole = folder / "whole";
  const Words large = {"run.steps=1", "batch.global=8192"};
  Result result{};
  const auto made_up = [&] { return result.out.find("step 1/1  validation ") != std::string::npos; };
  for (int attempt = 0; attempt < 10 && !made_up(); ++attempt) {
    fs::remove_all(run);
    Process process(command(run, large), folder);
    for (int k = 0; k < 6000 && read_text(run + "/status") != "running\n"; ++k)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    for (const pid_t rank : ranks_of(run)) kill(rank, SIGTERM);
    result = process.wait(60);
    ASSERT_EQ(result.status, 0) << result.err;
  }
  ASSERT_TRUE(made_up()) << "the signal never came during the step: " << result.out;
  EXPECT_EQ(read_text(run + "/status"), "0 done\n");
  ASSERT_EQ(test::run(command(whole, large)).status, 0);
  const auto loss = column(read_text(run + "/metrics.csv"), validation_loss);
  EXPECT_EQ(loss, column(read_text(whole + "/metrics.csv"), validation_loss));
  ASSERT_EQ(loss.size(), 1u);
  EXPECT_NE(loss[0], "");
  EXPECT_NE(read_text(run + "/summary.json").find("validation_loss"), std::string::npos);
}

/// A run of two steps, as a kill while its last evaluation runs leaves it.
class OwedEvaluation : public testing::Test {
 protected:
  OwedEvaluation() {
    EXPECT_EQ(start().status, 0);
    whole_ = read_text(metrics_);
    const std::string loss = column(whole_, validation_loss).back();
    owed_ = whole_;
    owed_.erase(owed_.rfind("," + loss + ",") + 1, loss.size());
    take_away();
  }
  void take_away() const { std::ofstream(metrics_) << owed_; }
  Result start(const Words& more = {}) const {
    Words words = {"run.steps=2"};
    words.insert(words.end(), more.begin(), more.end());
    return test::run(command(run_, words));
  }
  void expect_made_up_for() const {
    const Result again = start();
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_EQ(read_text(metrics_), whole_);
    EXPECT_EQ(read_text(run_ + "/status"), "0 done\n");
  }

  const Folder folder_;
  const std::string run_ = folder_ / "run", metrics_ = run_ + "/metrics.csv";
  std::string whole_, owed_;
};

TEST_F(OwedEvaluation, IsMadeUpForWithoutAStep) { expect_made_up_for(); }

/// The time is up before anything is done. The weights of the end wait for the next start too.
TEST_F(OwedEvaluation, StaysOwedWhereTheTimeIsUp) {
  const std::string weights = folder_ / "weights.safetensors", due = "ended before the evaluation that is due after step 2";
  const Result ended = start({"run.time_limit=0.01", "run.final_weights=" + weights});
  EXPECT_EQ(ended.status, 85) << ended.out << ended.err;
  EXPECT_EQ(occurrences(ended.out, due), 1) << ended.out;
  EXPECT_EQ(occurrences(ended.out, "left to do"), 0) << ended.out;
  EXPECT_TRUE(read_text(run_ + "/status").starts_with("85 " + due)) << read_text(run_ + "/status");
  EXPECT_EQ(read_text(metrics_), owed_);
  EXPECT_FALSE(fs::exists(weights));
  expect_made_up_for();
}

/// The file comes after the start has looked for it first. On a busy machine it may come too late: then once more.
TEST_F(OwedEvaluation, StaysOwedWhereStopComesInTheStart) {
  Result ended{};
  const auto met = [&] { return occurrences(ended.out, "ended before the evaluation that is due after step 2"); };
  for (int attempt = 0; attempt < 10 && met() == 0; ++attempt) {
    take_away();
    std::ofstream(run_ + "/status") << "running\n";  // as a kill leaves it
    Process process(command(run_, {"run.steps=2"}), folder_);
    for (int k = 0; k < 60000 && !fs::exists(run_ + "/lock"); ++k) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::ofstream(run_ + "/STOP") << "";
    ended = process.wait(60);
    fs::remove(run_ + "/STOP");
    ASSERT_EQ(ended.status, 0) << ended.err;
  }
  ASSERT_EQ(met(), 1) << ended.out;
  EXPECT_EQ(occurrences(ended.out, "left to do"), 0) << ended.out;
  EXPECT_TRUE(read_text(run_ + "/status").starts_with("0 ended before the evaluation")) << read_text(run_ + "/status");
  EXPECT_EQ(read_text(metrics_), owed_);
  expect_made_up_for();
}

}  // namespace
}  // namespace trireme::test
