// Standard output that nobody takes, a disk that is full for a while, signals of a terminal: what a run makes of them. Oracle:
// what the test does to the run; every step has one row.
#include <csignal>
#include <functional>
#include <map>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "validation/unit/support/run_files.h"

namespace trireme::test {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool handles_crashes = true;  // the sanitizer itself
#else
constexpr bool handles_crashes = false;
#endif

/// One rank, without a launcher, by a shell that arranges what the test is about.
Words by_shell(const std::string& run, const std::string& arrangement, const Words& more) {
  std::string command = program().string() + " train input/tiny.toml run.directory=" + run;
  for (const std::string& word : more) command += " " + word;
  return {"sh", "-c", command + " " + arrangement};
}

std::string steps_up_to(int last) {
  std::string text;
  for (int step = 1; step <= last; ++step) text += std::to_string(step) + " ";
  return text;
}

std::string steps_of(const std::string& run) {
  std::string text;
  for (const std::string& step : column(read_text(run + "/metrics.csv"), 0)) text += step + " ";
  return text;
}

TEST(StandardOutput, ARunGoesOnWithoutItAndSaysSoOnce) {
  for (const char* arrangement : {">/dev/full", ">&-", "| true"}) {
    const Folder folder;
    const std::string run = folder / "run";
    const Result result = test::run(by_shell(run, arrangement, {"run.steps=3"}));
    EXPECT_EQ(result.status, 0) << arrangement << result.err;
    EXPECT_EQ(read_text(run + "/status"), "0 done\n") << arrangement;
    EXPECT_EQ(steps_of(run), steps_up_to(3)) << arrangement;
    EXPECT_TRUE(fs::exists(run + "/checkpoints/step-00000003/manifest.json")) << arrangement;
    EXPECT_NE(read_text(run + "/log.txt").find("step 3/3"), std::string::npos) << read_text(run + "/log.txt");
    EXPECT_EQ(occurrences(result.err, "warning: standard output: cannot write: "), 1) << arrangement << result.err;
    EXPECT_NE(result.err.find(run + "/log.txt has its lines"), std::string::npos) << result.err;
  }
}

TEST(StandardOutput, StandardErrorMayBeGoneToo) {
  const Folder folder;
  EXPECT_EQ(test::run(by_shell(folder / "run", ">&- 2>&-", {"run.steps=2"})).status, 0);
  EXPECT_EQ(read_text(folder / "run/status"), "0 done\n");
  EXPECT_EQ(test::run(by_shell(folder / "other", ">/dev/full 2>/dev/full", {"run.steps=2", "--weights-only"})).status, 0);
  EXPECT_EQ(read_text(folder / "other/status"), "0 done\n");
}

/// No file of the program's grows while this lives; they stand for a disk that is full.
class FullDisk {
 public:
  FullDisk(pid_t process, std::uintmax_t bytes) : process_(process) {
    const rlimit limit{bytes, RLIM_INFINITY};
    prlimit(process_, RLIMIT_FSIZE, &limit, &before_);
  }
  ~FullDisk() { prlimit(process_, RLIMIT_FSIZE, &before_, nullptr); }

 private:
  pid_t process_;
  rlimit before_{};
};

TEST(FullForAWhile, MetricsAndLogHaveEveryLineAfterwards) {
  const Folder folder;
  const std::string run = folder / "run", metrics = run + "/metrics.csv";
  Process process({program(), "train", "input/tiny.toml", "run.directory=" + run, "run.steps=100000"}, folder);
  ASSERT_TRUE(reaches(run, 5));
  const auto ranks = ranks_of(run);
  ASSERT_EQ(ranks.size(), 1u);
  std::string rows;
  {
    const FullDisk full(ranks[0], fs::file_size(metrics) + 10);  // a row has more: the first one is cut
    ASSERT_TRUE(
        within_a_minute([&] { return read_text(folder / "stderr").find("metrics.csv: cannot write") != std::string::npos; }));
    // Each step tries again, and between its write and the removal of what was written there is a part of a row.
    EXPECT_TRUE(within_a_minute([&] {
      rows = read_text(metrics);
      return rows.ends_with('\n');
    })) << "the part of a row stays";
  }
  const int then = std::stoi(column(rows, 0).back());
  ASSERT_TRUE(reaches(run, then + 3));
  std::ofstream(run + "/STOP") << "";
  const Result result = process.wait(60);
  EXPECT_EQ(result.status, 0) << result.err;
  const int last = std::stoi(column(read_text(metrics), 0).back());
  EXPECT_GT(last, then);
  EXPECT_EQ(steps_of(run), steps_up_to(last));
  const std::string log = read_text(run + "/log.txt");
  EXPECT_EQ(occurrences(log, "\nstep "), last) << "lines are missing or glued together";
  EXPECT_EQ(occurrences(result.err, "metrics.csv: cannot write"), 1) << result.err;
  EXPECT_EQ(occurrences(result.err, "metrics.csv: written again"), 1) << result.err;
  EXPECT_EQ(test::run({program(), "plot", run}).status, 0);
}

/// As versions before wrote them: a part of a row with the next one glued to it, lines of nothing, a row too few.
TEST(DamagedMetrics, WhatIsNoRowIsDroppedOnResumeAndTheMissingStepsAreNamed) {
  const Folder folder;
  const std::string run = folder / "run", metrics = run + "/metrics.csv";
  const auto train = [&](int steps) {
    return test::run({program(), "train", "input/tiny.toml", "run.directory=" + run, "run.steps=" + std::to_string(steps)});
  };
  ASSERT_EQ(train(12).status, 0);
  std::istringstream lines(read_text(metrics));
  std::string text;
  std::vector<std::string> rows;
  for (std::string line; std::getline(lines, line);) rows.push_back(line);
  for (const int k : {0, 1, 2}) text += rows[k] + "\n";
  text += rows[3].substr(0, 20) + rows[4] + "\n";          // 3 and 4, glued
  text += rows[5] + "\nnonsense\n" + rows[6] + "\n\n";     // 5, 6
  text += rows[1].substr(0, 1) + rows[8] + "\n";           // 7 is missing; 8 looks like 18 of as many cells
  for (const int k : {9, 10, 12}) text += rows[k] + "\n";  // 11 is missing
  std::ofstream(metrics) << text;
  const Result result = train(14);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(steps_of(run), "1 2 5 6 9 10 12 13 14 ");
  EXPECT_NE(result.out.find("metrics.csv: 4 lines that are no rows were left out\n"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("metrics.csv: these steps have no row: 3 to 4, 7 to 8, 11\n"), std::string::npos) << result.out;
  EXPECT_NE(read_text(run + "/log.txt").find("these steps have no row"), std::string::npos);
  EXPECT_EQ(test::run({program(), "compare", run, run}).status, 0);
}

TEST(DamagedMetrics, AFileThatIsGoneIsNamedToo) {
  const Folder folder;
  const std::string run = folder / "run";
  const auto train = [&](const char* steps) {
    return test::run({program(), "train", "input/tiny.toml", "run.directory=" + run, steps});
  };
  ASSERT_EQ(train("run.steps=2").status, 0);
  fs::remove(run + "/metrics.csv");
  const Result result = train("run.steps=3");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(steps_of(run), "3 ");
  EXPECT_NE(result.out.find("these steps have no row: 1 to 2\n"), std::string::npos) << result.out;
}

TEST(Status, HasTheReasonOnAFullDisk) {
  const Folder folder;
  const std::string run = folder / "run";
  Process process({program(), "train", "input/tiny.toml", "run.directory=" + run, "run.steps=100000"}, folder);
  ASSERT_TRUE(reaches(run, 3));
  const pid_t rank = ranks_of(run).at(0);
  const FullDisk full(rank, 200000);
  kill(rank, SIGTERM);
  const Result result = process.wait(60);
  EXPECT_EQ(result.status, 1) << result.err;
  const std::string status = read_text(run + "/status"),
                    says = "checkpoint of step " + column(read_text(run + "/metrics.csv"), 0).back() + " was not written";
  EXPECT_TRUE(status.starts_with("1 " + says + ": ")) << status;
  EXPECT_EQ(occurrences(status, "\n"), 1) << status;
  EXPECT_EQ(occurrences(result.out + result.err, says), 1) << result.out << result.err;
}

/// HDF5 crashes where it gets no memory; the run must not.
TEST(Status, HasTheReasonWhenASaveGetsNoMemory) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "AddressSanitizer ends a process that gets no memory";
#endif
  const Folder folder;
  const std::string run = folder / "run";
  Process process({program(), "train", "input/tiny.toml", "run.directory=" + run, "run.steps=100000"}, folder);
  ASSERT_TRUE(reaches(run, 3));
  const pid_t rank = ranks_of(run).at(0);
  const std::string facts = read_text("/proc/" + std::to_string(rank) + "/status");
  const auto taken = 1024 * std::stoull(facts.substr(facts.find("VmSize:") + 7));
  const rlimit limit{taken + 500000, RLIM_INFINITY};
  ASSERT_EQ(prlimit(rank, RLIMIT_AS, &limit, nullptr), 0);
  kill(rank, SIGTERM);
  const Result result = process.wait(60);
  EXPECT_EQ(result.status, 1) << result.out << result.err;
  const std::string status = read_text(run + "/status");
  EXPECT_TRUE(status.starts_with("1 checkpoint of step ")) << status;
  EXPECT_NE(status.find("rank 0 on "), std::string::npos) << status;
  EXPECT_NE(status.find("out of memory"), std::string::npos) << status;
}

TEST(Hangup, SavesAndWantsAnotherTurnUnlessItWasIgnored) {
  const Folder folder;
  const std::string run = folder / "run";
  const auto start = [&](const char* shell) {
    return std::make_unique<Process>(
        Words{"sh", "-c",
              std::string(shell) + " " + program().string() + " train input/tiny.toml run.steps=100000 run.directory=" + run},
        folder);
  };
  auto process = start("exec");
  ASSERT_TRUE(reaches(run, 2));
  kill(ranks_of(run).at(0), SIGHUP);
  Result result = process->wait(60);
  EXPECT_EQ(result.status, 85) << result.err;
  EXPECT_NE(read_text(run + "/status").find("signal HUP, received by rank 0"), std::string::npos) << read_text(run + "/status");
  EXPECT_LT(result.out.size() + result.err.size(), 100000u) << "somebody else took the signal";
  const int saved = std::stoi(column(read_text(run + "/metrics.csv"), 0).back());

  process = start("trap '' HUP; exec");  // as nohup does
  ASSERT_TRUE(reaches(run, saved + 2));
  kill(ranks_of(run).at(0), SIGHUP);
  const int then = std::stoi(column(read_text(run + "/metrics.csv"), 0).back());
  EXPECT_TRUE(reaches(run, then + 5));
  kill(ranks_of(run).at(0), SIGTERM);
  result = process->wait(60);
  EXPECT_EQ(result.status, 85) << result.err;
  EXPECT_NE(read_text(run + "/status").find("signal TERM"), std::string::npos) << read_text(run + "/status");
}

/// A handler of UCX's, which looks for symbols, would wait for a lock or print pages.
TEST(Crash, EndsAJobAtOnceAndStatusNamesIt) {
  for (const auto& [signal, name] : std::map<int, std::string>{{SIGSEGV, "SEGV"}, {SIGBUS, "BUS"}, {SIGABRT, "ABRT"}}) {
    const Folder folder;
    const std::string run = folder / "run";
    Process process(on_ranks(2, {"train", "input/tiny.toml", "run.steps=100000", "run.directory=" + run}), folder);
    ASSERT_TRUE(reaches(run, 1));
    kill(ranks_of(run).at(0), signal);
    const Result result = process.wait(30);
    EXPECT_NE(result.status, 0);
    EXPECT_NE(result.status, 124) << "it hangs";
    EXPECT_EQ(result.err.find("backtrace"), std::string::npos) << result.err;
    const std::string status = read_text(run + "/status");
    if (handles_crashes) continue;
    EXPECT_TRUE(status.starts_with("1 rank ")) << status;
    EXPECT_NE(status.find(": crashed, signal " + name + "\n"), std::string::npos) << status;
  }
}

}  // namespace
}  // namespace trireme::test
