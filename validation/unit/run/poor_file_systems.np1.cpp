// Runs on file systems that lack an operation, or are full. Oracle: the files that must be there, and the exit status.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "store/checkpoint_folder.h"
#include "validation/unit/support/file_faults.h"
#include "validation/unit/support/run_files.h"

namespace trireme::test {
namespace {

class PoorFileSystem : public testing::Test {
 protected:
  std::vector<std::string> command(int steps) const {
    return on_ranks(1, {"train", "input/tiny.toml", "run.directory=" + directory_, fmt::format("run.steps={}", steps),
                        "model.layers=1", "checkpoint.every=1", "checkpoint.keep=1"});
  }
  Result train(int steps, const std::string& calls, const std::string& under = "/run") const {
    return run(with_faults(command(steps), {.calls = calls, .under = under.front() == '/' ? directory_ : under}), 60);
  }
  void expect_trained(const Result& result, int step) const {
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_EQ(read_text(directory_ + "/status"), "0 done\n");
    EXPECT_EQ(store::list_checkpoints(directory_ + "/checkpoints"),
              std::vector<std::string>{directory_ + "/checkpoints/" + store::step_folder_name(step)})
        << "one is kept";
    EXPECT_EQ(run({program().string(), "checkpoint", "verify", directory_}).status, 0);
  }

  const Folder folder_;
  const std::string directory_ = folder_ / "run", lock_ = directory_ + "/lock";
};

TEST_F(PoorFileSystem, WithoutFlockTheLockIsOneOfFcntl) {
  const Result result = train(3, fails_with("flock", ENOSYS));
  expect_trained(result, 3);
  EXPECT_EQ(occurrences(result.out, "no flock; the folder is held by a lock of fcntl"), 1) << result.out;
  EXPECT_FALSE(fs::exists(lock_));
}

TEST_F(PoorFileSystem, WithoutLocksTheFileItselfIsOne) {
  const std::string none = fails_with("flock", EOPNOTSUPP) + "," + fails_with("fcntl", ENOLCK);
  const Result result = train(2, none);
  expect_trained(result, 2);
  EXPECT_EQ(occurrences(result.out, "this file itself"), 1) << result.out;
  EXPECT_FALSE(fs::exists(lock_));
  std::ofstream(lock_) << "host elsewhere, process 17";
  const Result held = train(3, none);
  EXPECT_EQ(held.status, 2);
  EXPECT_NE(held.err.find("another run holds this folder (host elsewhere, process 17)"), std::string::npos) << held.err;
  EXPECT_NE(held.err.find("remove the file " + lock_), std::string::npos) << held.err;
  EXPECT_EQ(read_text(lock_), "host elsewhere, process 17");
  // A process of this host that is no more: one of a number that is never given.
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  std::ofstream(lock_) << fmt::format("host {}, process {}", host, 1 << 30);
  expect_trained(train(3, none), 3);
}

/// Two at once, each kind of lock: the second is refused while the first lives.
TEST_F(PoorFileSystem, OneRunHoldsAFolderByAnyKindOfLock) {
  const std::string flock = fails_with("flock", ENOSYS), fcntl = fails_with("fcntl", ENOSYS);
  for (const std::string& calls : {std::string(), flock, flock + "," + fcntl}) {
    SCOPED_TRACE(calls);
    fs::remove_all(directory_);
    const Folder outputs;
    Process first(with_faults(command(100000), {.calls = calls, .under = directory_}), outputs);
    ASSERT_TRUE(reaches(directory_, 1));
    const Result second = train(2, calls);
    EXPECT_EQ(second.status, 2);
    EXPECT_NE(second.err.find("another run holds this folder (host "), std::string::npos) << second.err;
    std::ofstream(directory_ + "/STOP") << "";
    EXPECT_EQ(first.wait(60).status, 0);
  }
}

TEST_F(PoorFileSystem, AFolderThatCannotBeLockedIsLeftAsItWas) {
  const Result result = train(2, fails_with("flock", EIO));
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find(lock_ + ": cannot lock: Input/output error"), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(directory_));
  fs::create_directory(directory_);
  ASSERT_EQ(mkfifo(lock_.c_str(), 0666), 0);
  const Result pipe = train(2, "");
  EXPECT_EQ(pipe.status, 2);
  EXPECT_NE(pipe.err.find("is not a regular file, but a pipe"), std::string::npos) << pipe.err;
  EXPECT_TRUE(fs::is_fifo(lock_));
}

TEST_F(PoorFileSystem, LatestIsOnlyAHint) {
  const Result refused = train(3, fails_with("symlink", EOPNOTSUPP));
  expect_trained(refused, 3);
  EXPECT_EQ(occurrences(refused.out, "warning: "), 1) << refused.out;
  EXPECT_NE(refused.out.find("latest: cannot make this symbolic link: Operation not supported"), std::string::npos)
      << refused.out;
  const Result renamed = train(6, fails_with("rename", EPERM), "checkpoints/latest");
  expect_trained(renamed, 6);
  EXPECT_EQ(occurrences(renamed.out, "warning: "), 1) << renamed.out;
  EXPECT_FALSE(fs::exists(fs::symlink_status(directory_ + "/checkpoints/latest.partial")));
  fs::create_directory(directory_ + "/checkpoints/latest");
  const Result folder = train(9, "");
  expect_trained(folder, 9);
  EXPECT_EQ(occurrences(folder.out, "warning: "), 1) << folder.out;
}

/// Whoever may not remove an old checkpoint has a new one all the same.
TEST_F(PoorFileSystem, AnOldCheckpointThatCannotBeRemovedCostsNoNewOne) {
  ASSERT_EQ(train(1, "").status, 0);
  const Result result = train(3, fails_with("rename", EACCES), "checkpoints/step-00000001");
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_EQ(occurrences(result.out, "warning: "), 1) << result.out;
  EXPECT_NE(result.out.find("An old checkpoint stays."), std::string::npos) << result.out;
  EXPECT_EQ(store::list_checkpoints(directory_ + "/checkpoints").front(), directory_ + "/checkpoints/step-00000003");
}

/// Where names cannot be exchanged or kept, as on NFS, a rename and a link do.
TEST_F(PoorFileSystem, WithoutRenameat2EverythingIsPublished) {
  expect_trained(train(3, fails_with("renameat2", EINVAL)), 3);
  const std::string model = folder_ / "m.safetensors", step = folder_ / "step", text = folder_ / "text",
                    tokens = folder_ / "tokens";
  std::ofstream(text) << "some text";
  const auto call = [&](std::vector<std::string> words) {
    words.insert(words.begin(), program().string());
    return run(with_faults(words, {.calls = fails_with("renameat2", EINVAL), .under = folder_.path()})).status;
  };
  EXPECT_EQ(call({"checkpoint", "export", directory_, model}), 0);
  EXPECT_EQ(call({"checkpoint", "import", model, step, "heads=4"}), 0);
  EXPECT_EQ(call({"prepare", text, "--output", tokens}), 0);
  EXPECT_EQ(read_text(tokens + ".bin").size(), 18u);
  EXPECT_TRUE(fs::exists(tokens + ".idx"));
  EXPECT_EQ(call({"prepare", text, "--output", tokens}), 2);
}

}  // namespace
}  // namespace trireme::test
