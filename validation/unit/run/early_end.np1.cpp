// How a run ends early, as a user meets it: a stopped rank, signals, the job's time, STOP and SAVE. Oracle: what the test does to
// the run, and the exit statuses of the design.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "validation/unit/support/run_files.h"

namespace trireme::test {
namespace {

std::vector<std::string> endless(const std::string& run, const std::vector<std::string>& more) {
  std::vector<std::string> words = {"train", "input/tiny.toml", "run.directory=" + run, "run.steps=1000000"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Waits until the run has logged `steps` steps.
bool is_stepping(const std::string& run, int steps = 2) {
  return within_a_minute([&] { return occurrences(read_text(run + "/metrics.csv"), "\n") > steps; });
}

pid_t process_of(const std::string& run, int rank) {
  std::istringstream lines(read_text(run + "/topology.tsv"));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(std::to_string(rank) + "\t")) return std::stoi(line.substr(line.rfind('\t')));
  return -1;
}

TEST(Watchdog, NamesTheStoppedRankOfARunAndEndsItWith5) {
  for (const int rank : {5, 0}) {
    const Folder folder;
    const std::string run = folder / "run";
    Process process(on_ranks(8, endless(run, {"run.watchdog=4", "parallel.tensor=2", "parallel.pipeline=2"})), folder);
    ASSERT_TRUE(is_stepping(run));
    const pid_t stopped = process_of(run, rank);
    ASSERT_GT(stopped, 0);
    kill(stopped, SIGSTOP);
    const Result result = process.wait(4 + 15);
    kill(stopped, SIGKILL);  // should the launcher have left it
    EXPECT_EQ(result.status, 5) << result.err;
    EXPECT_EQ(occurrences(result.err, "watchdog:"), 1) << result.err;
    const std::string name = fmt::format("rank {} on", rank), status = read_text(run + "/status");
    EXPECT_TRUE(contains(result.err, "watchdog: " + name)) << result.err;
    EXPECT_TRUE(status.starts_with("5 rank ") && contains(status, ": watchdog: " + name)) << status;
    EXPECT_TRUE(contains(status, fmt::format("process {};", stopped))) << status;
    EXPECT_TRUE(contains(status, "waits for it in")) << status;
    EXPECT_TRUE(within_a_minute([&] { return kill(stopped, 0) != 0; })) << "the stopped rank is left behind";
  }
}

TEST(Watchdog, SaysNothingOfEightRanksOnFewCores) {
  const Folder folder;
  const Result result = run(on_ranks(8, {"train", "input/tiny.toml", "run.directory=" + folder / "run", "run.watchdog=5",
                                         "run.steps=20", "parallel.tensor=2", "parallel.pipeline=4", "run.evaluate_every=10"}));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_FALSE(contains(result.err, "watchdog"));
  EXPECT_EQ(read_text(folder / "run/status"), "0 done\n");
}

TEST(EarlyEnd, SignalToOneRankEndsAllWith85) {
  for (const int signal : {SIGTERM, SIGUSR1}) {
    const Folder folder;
    const std::string run = folder / "run";
    Process process(on_ranks(4, endless(run, {"parallel.pipeline=2", "run.evaluate_every=5"})), folder);
    ASSERT_TRUE(is_stepping(run));
    const pid_t one = process_of(run, 3);
    for (int k = 0; k < 3; ++k) kill(one, signal);
    kill(process_of(run, 1), SIGUSR1);
    const Result result = process.wait(30);
    EXPECT_EQ(result.status, 85) << result.err;
    EXPECT_TRUE(read_text(run + "/status").starts_with("85 ")) << read_text(run + "/status");
    EXPECT_TRUE(contains(result.err + result.out, "signal ")) << result.err;
  }
}

TEST(EarlyEnd, SignalDuringTheStartIsNotLost) {
  const Folder folder;
  const std::string run = folder / "run";
  Process process(on_ranks(2, endless(run, {})), folder);
  ASSERT_TRUE(within_a_minute([&] { return fs::exists(run + "/lock"); }));  // before the model's memory is taken
  kill(ranks_of(run).back(), SIGUSR1);
  EXPECT_EQ(process.wait(30).status, 85);
  EXPECT_TRUE(contains(read_text(run + "/status"), "signal USR1, received by rank "));
}

TEST(EarlyEnd, TimeLimitEndsWith85BeforeItIsOver) {
  const Folder folder;
  const std::string run = folder / "run";
  const auto begin = std::chrono::steady_clock::now();
  const Result result = Process(on_ranks(4, endless(run, {"run.time_limit=0:08"})), folder).wait(30);
  EXPECT_EQ(result.status, 85) << result.err;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(8));
  EXPECT_TRUE(contains(read_text(run + "/status"), "time of 0:00:08"));
  EXPECT_GT(occurrences(read_text(run + "/metrics.csv"), "\n"), 1) << "it ended before it began";
}

TEST(EarlyEnd, StopFileEndsWith0AndKeepsTheNextStartFromGoingOn) {
  const Folder folder, other;
  const std::string run = folder / "run";
  Process process(on_ranks(2, endless(run, {})), folder);
  ASSERT_TRUE(is_stepping(run));
  std::ofstream(run + "/SAVE") << "";
  EXPECT_TRUE(within_a_minute([&] { return !fs::exists(run + "/SAVE"); })) << "each SAVE asks for one save";
  std::ofstream(run + "/STOP") << "";
  const Result result = process.wait(30);
  EXPECT_EQ(result.status, 0) << result.err;
  const std::string metrics = read_text(run + "/metrics.csv");
  const Result again = Process(on_ranks(2, endless(run, {})), other).wait(30);
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_TRUE(contains(again.out, "STOP is there")) << again.out;
  EXPECT_EQ(read_text(run + "/metrics.csv"), metrics) << "the start with STOP changed the run";
}

}  // namespace
}  // namespace trireme::test
