// The folder of a run: all ranks see the same one, it may hold logs, and it may be moved while the run goes on. Oracle: what the
// test did to the folders, and where files are afterwards.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "data/token_writer.h"
#include "validation/unit/support/folder_state.h"
#include "validation/unit/support/run_files.h"

namespace trireme::test {
namespace {

Words tiny(const Words& more) {
  Words words = {"train", fs::absolute("input/tiny.toml")};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Rank 0 in one working directory, rank 1 in another.
Result apart(const std::string& first, const std::string& second, const Words& words) {
  Words all = {launcher()};
  for (const std::string& folder : {first, second}) {
    if (all.size() > 1) all.push_back(":");
    for (const std::string& word : {std::string("-n"), std::string("1"), std::string("-wdir"), folder, program().string()})
      all.push_back(word);
    all.insert(all.end(), words.begin(), words.end());
  }
  return test::run(all);
}

void write_tokens(const std::string& prefix, std::int32_t id) {
  data::TokenWriter writer(prefix, 256);
  writer.append(std::vector<std::int32_t>(2000, id));
  writer.end_document();
  writer.finish();
}

class Apart : public testing::Test {
 protected:
  Apart() {
    for (const char* name : {"a", "b"}) fs::create_directory(folder_ / name);
  }
  void expect_refused(const Result& result, const std::string& what) const {
    EXPECT_EQ(result.status, 2) << result.out << result.err;
    EXPECT_EQ(occurrences(result.err, what), 1) << result.err;
    EXPECT_NE(result.err.find("rank 1 on "), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(folder_ / "b/run"));
  }

  Folder folder_;
};

TEST_F(Apart, RanksThatSeeOtherFoldersAreRefusedBeforeTheFirstStep) {
  expect_refused(apart(folder_ / "a", folder_ / "b", tiny({"run.directory=run", "run.steps=3"})), folder_ / "b/run/lock");
  EXPECT_FALSE(fs::exists(folder_ / "a/run"));
}

TEST_F(Apart, RanksThatDoNotSeeTheCheckpointsAreRefused) {
  ASSERT_EQ(apart(folder_ / "a", folder_ / "a", tiny({"run.directory=run", "run.steps=2"})).status, 0);
  const auto before = state_of(folder_ / "a/run");
  expect_refused(apart(folder_ / "a", folder_ / "b", tiny({"run.directory=run", "run.steps=3"})),
                 folder_ / "b/run/checkpoints/step-00000002/manifest.json");
  expect_refused(apart(folder_ / "a", folder_ / "b", tiny({"run.directory=" + folder_ / "new", "model.initial=run"})),
                 folder_ / "b/run/checkpoints/step-00000002/manifest.json");
  EXPECT_EQ(state_of(folder_ / "a/run"), before);
}

TEST_F(Apart, RanksThatSeeOtherTokensAreRefused) {
  write_tokens(folder_ / "a/tokens", 65);
  write_tokens(folder_ / "b/tokens", 66);
  expect_refused(apart(folder_ / "a", folder_ / "b",
                       tiny({"run.directory=" + folder_ / "run", "data.synthetic=false", "data.tokens=tokens"})),
                 "finds other data there than rank 0");
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST(RunFolder, MayHoldLogsButNothingElse) {
  const Folder folder;
  const std::string run = folder / "run";
  fs::create_directory(run);
  for (const char* name : {"slurm-7.out", "train.err", "mine.log", "job.o4711", "job.e4711", "nohup.out"})
    std::ofstream(run + "/" + name) << "a line\n";
  ASSERT_EQ(test::run(on_ranks(1, tiny({"run.directory=" + run, "run.steps=1"}))).status, 0);
  EXPECT_EQ(read_text(run + "/slurm-7.out"), "a line\n");
  for (const char* name : {"notes.txt", "results.output", "job.old"}) {
    const std::string other = folder / (std::string("other-") + name);
    fs::create_directory(other);
    std::ofstream(other + "/slurm-7.out") << "a line\n";
    std::ofstream(other + "/" + name) << "a line\n";
    const Result result = test::run(on_ranks(1, tiny({"run.directory=" + other, "run.steps=1"})));
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(occurrences(result.err, name), 2) << result.err;  // in the folder's name too
    EXPECT_EQ(result.err.find("slurm-7.out"), std::string::npos) << result.err;
  }
}

/// A run without an end, which has taken steps.
class MovedFolder : public testing::Test {
 protected:
  MovedFolder() { EXPECT_TRUE(reaches(run_, 5)); }
  Words command(const Words& more) const {
    Words words = tiny({"run.directory=" + run_, "checkpoint.every=3"});
    words.insert(words.end(), more.begin(), more.end());
    return on_ranks(2, words);
  }

  Folder folder_, outputs_;
  const std::string run_ = folder_ / "run", elsewhere_ = folder_ / "elsewhere";
  Process process_{command({"run.steps=1000000"}), outputs_};
};

TEST_F(MovedFolder, EndsTheRunWithAllOfItInTheNewPlace) {
  fs::rename(run_, elsewhere_);
  const Result result = process_.wait(60);
  EXPECT_EQ(result.status, 1) << result.out << result.err;
  for (const std::string& part : {run_ + "\" was moved to " + elsewhere_, "run.directory=" + elsewhere_})
    EXPECT_EQ(occurrences(result.err, part), 1) << result.err;
  EXPECT_FALSE(fs::exists(run_)) << "a second folder was made";
  EXPECT_TRUE(read_text(elsewhere_ + "/status").starts_with("1 run.directory")) << read_text(elsewhere_ + "/status");
  EXPECT_FALSE(fs::exists(elsewhere_ + "/lock"));
  const std::string last = column(read_text(elsewhere_ + "/metrics.csv"), 0).back();
  EXPECT_TRUE(fs::exists(elsewhere_ + fmt::format("/checkpoints/step-{:0>8}/manifest.json", last))) << "step " << last;
  EXPECT_TRUE(fs::exists(elsewhere_ + "/summary.json"));
  const std::string further = std::to_string(std::stoi(last) + 1);
  const Result again = test::run(on_ranks(2, tiny({"run.directory=" + elsewhere_, "run.steps=" + further})));
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_NE(again.out.find("resumed from step " + last), std::string::npos) << again.out;
}

TEST_F(MovedFolder, AnotherFolderInItsPlaceStaysAsItIs) {
  fs::create_directory(folder_ / "new");
  std::ofstream(folder_ / "new/mine") << "mine";
  fs::rename(run_, elsewhere_);
  fs::rename(folder_ / "new", run_);
  EXPECT_EQ(process_.wait(60).status, 1);
  EXPECT_EQ(names_in(run_), Words{"mine"});
  EXPECT_TRUE(fs::exists(elsewhere_ + "/summary.json"));
}

TEST_F(MovedFolder, OneThatWasRemovedIsNotMadeAnew) {
  fs::rename(run_, elsewhere_);  // in one moment
  for (std::error_code writing_still; fs::exists(elsewhere_);) fs::remove_all(elsewhere_, writing_still);
  const Result result = process_.wait(60);
  EXPECT_EQ(result.status, 1) << result.out << result.err;
  EXPECT_FALSE(fs::exists(run_));
}

/// Oracle: what the shell's own umask gives.
TEST(RunFolder, ModesFollowTheUmask) {
  const Folder folder;
  for (const int mask : {0002, 0027}) {
    const std::string run = fmt::format("{}/run-{}", folder.path().string(), mask);
    Words words = {"bash", "-c", fmt::format("umask {:04o}; exec \"$@\"", mask), "bash"};
    const Words start = on_ranks(1, tiny({"run.directory=" + run, "run.steps=1000000", "checkpoint.every=2"}));
    words.insert(words.end(), start.begin(), start.end());
    const Folder outputs;
    Process process(words, outputs);
    ASSERT_TRUE(reaches(run, 5));
    for (const char* name : {"lock", "status", "config.toml", "log.txt", "metrics.csv", "starts/0001/topology.tsv"}) {
      struct stat facts = {};
      EXPECT_EQ(stat((run + "/" + name).c_str(), &facts), 0) << name;
      EXPECT_EQ(facts.st_mode & 0777, 0666 & ~static_cast<mode_t>(mask)) << name;
    }
    for (const pid_t rank : ranks_of(run)) kill(rank, SIGTERM);
    EXPECT_EQ(process.wait(60).status, 85);
  }
}

}  // namespace
}  // namespace trireme::test
