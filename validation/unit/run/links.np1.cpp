// What a run leaves alone: files behind symbolic links, and files of the user's that have names it would have liked. Oracle: the
// bytes of those files before.
#include <map>
#include <memory>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "store/checkpoint_folder.h"
#include "validation/unit/support/run_files.h"

namespace trireme::test {
namespace {

using Files = std::map<std::string, std::string>;

/// Every file below a folder, by its path in it.
Files contents(const std::string& folder) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files[fs::relative(entry.path(), folder)] = read_text(entry.path());
  return files;
}

class Links : public testing::Test {
 protected:
  /// The other run, once for all tests; each has a copy.
  static void SetUpTestSuite() {
    trained = std::make_unique<Folder>();
    EXPECT_EQ(train(*trained / "run", 3).status, 0);
  }
  static void TearDownTestSuite() { trained.reset(); }
  Links() {
    fs::create_directory(mine_);
    fs::copy(*trained / "run", theirs_, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    before_ = contents(theirs_);
    EXPECT_TRUE(before_.contains("metrics.csv"));
  }
  ~Links() override { EXPECT_TRUE(contents(theirs_) == before_) << "another run's files changed"; }

  static Result train(const std::string& directory, int steps, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {
        "train",          "input/tiny.toml",    "run.directory=" + directory, fmt::format("run.steps={}", steps),
        "model.layers=1", "checkpoint.every=1", "checkpoint.keep=1"};
    words.insert(words.end(), more.begin(), more.end());
    return run(on_ranks(1, words), 60);
  }
  void expect_refused(const std::vector<std::string>& says, const std::vector<std::string>& more = {}) {
    const Result result = train(mine_, 6, more);
    EXPECT_EQ(result.status, 2) << result.out << result.err;
    for (const std::string& part : says) EXPECT_NE(result.err.find(part), std::string::npos) << part << "\n" << result.err;
  }

  inline static std::unique_ptr<Folder> trained;
  const Folder folder_;
  const std::string mine_ = folder_ / "mine", theirs_ = folder_ / "theirs";
  Files before_;
};

TEST_F(Links, CheckpointsOfAnotherRunAreRefused) {
  fs::create_symlink("../theirs/checkpoints", mine_ + "/checkpoints");
  expect_refused({mine_ + "/checkpoints: is a symbolic link to", "Link to an empty folder"});
  EXPECT_EQ(contents(mine_), Files{}) << "a refused start leaves nothing";
}

TEST_F(Links, CheckpointsMayLieBehindALinkToAFolderOfTheirOwn) {
  const std::string scratch = folder_ / "scratch", other = folder_ / "other";
  fs::create_directory(scratch);
  fs::create_symlink(scratch, mine_ + "/checkpoints");
  EXPECT_EQ(train(mine_, 2).status, 0);
  const Result again = train(mine_, 3);
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_NE(again.out.find("resumed from step 2"), std::string::npos) << again.out;
  EXPECT_EQ(store::list_checkpoints(scratch), std::vector<std::string>{scratch + "/step-00000003"});
  fs::create_directory(other);
  fs::create_symlink(scratch, other + "/checkpoints");
  const Result refused = train(other, 4);
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("belongs to the run in " + fs::canonical(mine_).string()), std::string::npos) << refused.err;
  EXPECT_EQ(store::list_checkpoints(scratch).size(), 1u);
  fs::remove(other + "/checkpoints");
}

TEST_F(Links, CheckpointsThatAreALinkToNothingAreRefused) {
  fs::create_symlink(folder_ / "nowhere", mine_ + "/checkpoints");
  expect_refused({"which is no folder"});
  EXPECT_FALSE(fs::exists(folder_ / "nowhere"));
}

TEST_F(Links, TracesOfAnotherRunAreRefused) {
  fs::create_directory(theirs_ + "/traces");
  std::ofstream(theirs_ + "/traces/step-00000002.h5") << "theirs";
  before_ = contents(theirs_);
  fs::create_symlink(theirs_ + "/traces", mine_ + "/traces");
  expect_refused({mine_ + "/traces: is a symbolic link to"}, {"trace.steps=2"});
}

TEST_F(Links, PlotsOfAnotherRunAreLeftAlone) {
  const auto plot = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {program().string(), "plot"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words, 60);
  };
  ASSERT_EQ(plot({theirs_}).status, 0);
  before_ = contents(theirs_);
  ASSERT_TRUE(before_.contains("plots/loss.svg"));
  ASSERT_EQ(train(mine_, 2).status, 0);
  fs::create_symlink(theirs_ + "/plots", mine_ + "/plots");
  const Result alone = plot({mine_}), together = plot({mine_, theirs_});
  for (const Result& result : {alone, together}) {
    EXPECT_EQ(result.status, 2) << result.out << result.err;
    EXPECT_EQ(occurrences(result.err, mine_ + "/plots: is a symbolic link to"), 1) << result.err;
  }
  fs::remove(mine_ + "/plots");
  fs::create_directory(mine_ + "/plots");
  fs::create_symlink(theirs_ + "/plots", mine_ + "/plots/mine+theirs");
  EXPECT_EQ(plot({mine_, theirs_}).status, 2);
  EXPECT_EQ(plot({mine_}).status, 0);
  fs::remove(mine_ + "/plots/mine+theirs");
  const std::string own = folder_ / "own";
  fs::create_directory(own);
  fs::create_symlink(own, mine_ + "/plots/mine+theirs");
  for (int k = 0; k < 2; ++k) EXPECT_EQ(plot({mine_, theirs_}).status, 0) << "into a folder of its own";
  EXPECT_TRUE(fs::exists(own + "/loss.svg"));
}

TEST_F(Links, StartsOfAnotherRunAreRefused) {
  fs::create_symlink(theirs_ + "/starts", mine_ + "/starts");
  expect_refused({mine_ + "/starts: is a symbolic link to"});
}

/// A checkpoint that was moved to an archive and linked to: pruning takes the link.
TEST_F(Links, AnOldCheckpointBehindALinkStaysWhole) {
  const std::string archive = folder_ / "archive", old = mine_ + "/checkpoints/step-00000001";
  ASSERT_EQ(train(mine_, 1).status, 0);
  fs::rename(old, archive);
  fs::create_symlink(archive, old);
  const Files archived = contents(archive);
  const Result result = train(mine_, 3);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("resumed from step 1"), std::string::npos) << result.out;
  EXPECT_FALSE(fs::exists(fs::symlink_status(old)));
  EXPECT_TRUE(contents(archive) == archived);
  EXPECT_FALSE(archived.empty());
}

TEST_F(Links, ALockThatIsALinkIsNotFollowed) {
  fs::create_symlink(theirs_ + "/config.toml", mine_ + "/lock");
  expect_refused({mine_ + "/lock", "it is a link"});
  fs::remove(mine_ + "/lock");
  fs::create_symlink(folder_ / "made", mine_ + "/lock");
  expect_refused({mine_ + "/lock", "it is a link"});
  EXPECT_FALSE(fs::exists(folder_ / "made"));
}

TEST_F(Links, NamesBesideTheOutputsAreTheUsersOwn) {
  const std::string weights = folder_ / "weights.safetensors";
  std::ofstream(weights + ".partial") << "mine";
  fs::create_symlink(theirs_ + "/metrics.csv", mine_ + "/status.partial");
  fs::create_symlink(theirs_ + "/summary.json", mine_ + "/metrics.csv.partial");
  std::ofstream(mine_ + "/status") << "0 done\n";  // a folder of a run
  const Result result = train(mine_, 2, {"run.final_weights=" + weights});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(read_text(weights + ".partial"), "mine");
  EXPECT_TRUE(fs::exists(weights));
  EXPECT_TRUE(fs::is_symlink(mine_ + "/status.partial"));
  EXPECT_EQ(read_text(mine_ + "/status"), "0 done\n");
}

TEST_F(Links, ExportAndImportTouchNothingBeside) {
  const std::string model = folder_ / "m.safetensors", step = folder_ / "step";
  std::ofstream(model + ".partial") << "mine";
  fs::create_directory(step + ".partial");
  std::ofstream(step + ".partial/notes.txt") << "mine";
  const Result exported = run({program().string(), "checkpoint", "export", theirs_, model});
  EXPECT_EQ(exported.status, 0) << exported.err;
  const Result imported = run({program().string(), "checkpoint", "import", model, step, "heads=4"});
  EXPECT_EQ(imported.status, 0) << imported.err;
  EXPECT_EQ(read_text(model + ".partial"), "mine");
  EXPECT_EQ(read_text(step + ".partial/notes.txt"), "mine");
  EXPECT_EQ(run({program().string(), "checkpoint", "verify", step}).status, 0);
}

/// What a run that was killed left under a name on the way is removed by the next; nothing else is.
TEST_F(Links, WhatAKilledRunLeftGoesWithTheNext) {
  ASSERT_EQ(train(mine_, 1).status, 0);
  for (const char* name : {"status.0a1b2c.partial", "metrics.csv.ffffff.partial", "status.0a1b2g.partial", "mine.0a1b2c.partial"})
    std::ofstream(mine_ + "/" + name) << "x";
  EXPECT_EQ(train(mine_, 2).status, 0);
  for (const char* name : {"status.0a1b2c.partial", "metrics.csv.ffffff.partial"}) EXPECT_FALSE(fs::exists(mine_ + "/" + name));
  for (const char* name : {"status.0a1b2g.partial", "mine.0a1b2c.partial"}) EXPECT_TRUE(fs::exists(mine_ + "/" + name));
}

}  // namespace
}  // namespace trireme::test
