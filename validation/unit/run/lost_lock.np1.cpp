// The lock of a run that goes on is removed or replaced. Oracle: the files of the folder while nobody but the run in question
// could change them, and which of two runs ends.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "validation/unit/support/file_faults.h"
#include "validation/unit/support/folder_state.h"
#include "validation/unit/support/run_files.h"

namespace trireme::test {
namespace {

const std::string by_flock, by_file = fails_with("flock", ENOSYS) + "," + fails_with("fcntl", ENOLCK);

class LostLock : public testing::TestWithParam<std::string> {
 protected:
  ~LostLock() override {
    for (const pid_t rank : ranks_of(run_)) kill(rank, SIGKILL);
  }
  /// A step takes a while: who stops a run right after a row stops it in the midst of the next step.
  std::vector<std::string> command(int steps) const {
    return with_faults(
        on_ranks(1, {"train", "input/tiny.toml", "run.directory=" + run_, fmt::format("run.steps={}", steps), "batch.global=128",
                     "model.layers=1", "checkpoint.every=3", "checkpoint.keep=0", "run.watchdog=0"}),
        {.calls = GetParam(), .under = run_});
  }
  int last_row() const {
    const auto rows = column(read_text(run_ + "/metrics.csv"), 0);
    return rows.empty() ? 0 : std::atoi(rows.back().c_str());
  }
  /// Stops the only rank of the only run there, in a step in which no save is under way.
  pid_t pause() const {
    EXPECT_TRUE(reaches(run_, 5));
    while (last_row() % 3 != 2) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const pid_t rank = ranks_of(run_).at(0);
    kill(rank, SIGSTOP);
    return rank;
  }
  bool there_is_a_lock() const {
    for (int k = 0; k < 6000 && read_text(lock_).empty(); ++k) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return !read_text(lock_).empty();
  }
  /// The run that was paused goes on, and ends at once without a change of the folder.
  void expect_to_leave(Process& process, pid_t rank, const std::string& to) const {
    const auto before = state_of(run_);
    kill(rank, SIGCONT);
    const Result ended = process.wait(60);
    EXPECT_EQ(ended.status, 1) << ended.out << ended.err;
    EXPECT_EQ(occurrences(ended.err, "another run has begun there (" + to), 1) << ended.err;
    EXPECT_EQ(state_of(run_), before) << "it changed files of the other run";
  }
  void expect_whole() const {
    const auto rows = column(read_text(run_ + "/metrics.csv"), 0);
    for (std::size_t k = 0; k < rows.size(); ++k) EXPECT_EQ(rows[k], std::to_string(k + 1));
    EXPECT_EQ(test::run({program(), "checkpoint", "verify", run_}).status, 0);
    EXPECT_FALSE(fs::exists(lock_));
  }

  const Folder folder_, outputs_, other_outputs_;
  const std::string run_ = folder_ / "run", lock_ = run_ + "/lock";
};

TEST_P(LostLock, IsMadeAnewAndHolds) {
  Process first(command(1000000), outputs_);
  ASSERT_TRUE(reaches(run_, 1));
  fs::remove(lock_);
  ASSERT_TRUE(there_is_a_lock());
  const Result second = run(command(1000000), 60);
  EXPECT_EQ(second.status, 2) << second.err;
  EXPECT_EQ(occurrences(second.err, "another run holds this folder (host "), 1) << second.err;
  EXPECT_EQ(occurrences(second.err, "no longer exists, remove the file " + lock_), GetParam() == by_file) << second.err;
  std::ofstream(run_ + "/STOP") << "";
  const Result ended = first.wait(60);
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(occurrences(read_text(run_ + "/log.txt"), "lock: this file was removed or replaced during the run"), 1);
  expect_whole();
}

TEST_P(LostLock, TakenByAnotherRunEndsThisOne) {
  Process first(command(1000000), outputs_);
  const pid_t rank = pause();
  fs::remove(lock_);
  Process second(command(1000000), other_outputs_);
  ASSERT_TRUE(there_is_a_lock());
  ASSERT_TRUE(reaches(run_, last_row() + 2));
  pid_t other = 0;
  for (const pid_t pid : ranks_of(run_))
    if (pid != rank) kill(other = pid, SIGSTOP);
  ASSERT_NE(other, 0);
  expect_to_leave(first, rank, read_text(lock_) + ")");
  kill(other, SIGCONT);
  std::ofstream(run_ + "/STOP") << "";
  const Result ended = second.wait(60);
  EXPECT_EQ(ended.status, 0) << ended.err;
  expect_whole();
}

TEST_P(LostLock, OfARunThatCameAndWentEndsThisOne) {
  Process first(command(1000000), outputs_);
  const pid_t rank = pause();
  fs::remove(lock_);
  ASSERT_EQ(run(command(last_row() + 2), 60).status, 0);
  expect_to_leave(first, rank, "its start is kept in starts/0002)");
  expect_whole();
  EXPECT_EQ(read_text(run_ + "/status"), "0 done\n");
}

/// A file that no process holds is taken where a lock is held by a process; where the file itself is the lock, it is another's.
TEST_P(LostLock, ReplacedByAFileIsThatFilesOwner) {
  Process first(command(1000000), outputs_);
  const pid_t rank = pause();
  const std::string theirs = "host elsewhere, process 17";
  std::ofstream(folder_ / "lock") << theirs;
  fs::rename(folder_ / "lock", lock_);
  if (GetParam() == by_file) {
    expect_to_leave(first, rank, theirs + ")");
    EXPECT_EQ(read_text(lock_), theirs);
    return;
  }
  kill(rank, SIGCONT);
  ASSERT_TRUE(reaches(run_, last_row() + 2));
  EXPECT_TRUE(read_text(lock_).ends_with(fmt::format("process {}", rank))) << read_text(lock_);
  std::ofstream(run_ + "/STOP") << "";
  EXPECT_EQ(first.wait(60).status, 0);
  expect_whole();
}

INSTANTIATE_TEST_SUITE_P(, LostLock, testing::Values(by_flock, by_file),
                         [](const auto& test) { return test.param == by_file ? "TheFile" : "Flock"; });

}  // namespace
}  // namespace trireme::test
