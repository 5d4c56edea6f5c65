// A start that takes no step changes nothing, and one that fails says so. Oracle: every file of the run as it was, byte and time.
#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "folder/run_folder.h"
#include "store/safetensors.h"
#include "validation/unit/support/folder_state.h"
#include "validation/unit/support/run_files.h"

namespace trireme::test {
namespace {

class Starts : public testing::Test {
 protected:
  Result train(int ranks, const Words& more) const {
    Words words = {"train", "input/tiny.toml", "run.directory=" + run_};
    words.insert(words.end(), more.begin(), more.end());
    return test::run(on_ranks(ranks, words));
  }

  Folder folder_;
  const std::string run_ = folder_ / "some/where/run";
};

TEST_F(Starts, ThatHaveNothingToDoChangeNothingAndSayWhy) {
  ASSERT_EQ(train(4, {"run.steps=6", "parallel.tensor=2"}).status, 0);
  std::ofstream(run_ + "/SAVE") << "";
  const auto before = state_of(run_);
  const std::vector<std::pair<Words, std::string>> starts = {
      {{"run.steps=6"}, "run.steps = 6 asks"},
      {{"run.steps=4", "parallel.pipeline=2"}, "run.steps = 4 asks"},
      {{"run.steps=6", "--weights-only"}, "run.steps = 6 asks"},
      {{"run.steps=5", "checkpoint.every=1", "optimizer.learning_rate=1"}, "run.steps = 5 asks"}};
  for (const auto& [words, asked] : starts) {
    const Result result = train(2, words);
    EXPECT_EQ(result.status, 0) << result.err;
    for (const std::string& part : {run_ + "/checkpoints/step-00000006 holds step 6", asked,
                                    "To begin anew, choose another run.directory, or remove " + run_})
      EXPECT_NE(result.out.find(part), std::string::npos) << part << " in\n" << result.out;
    EXPECT_EQ(state_of(run_), before) << asked;
  }
  const Result weights = train(2, {"run.steps=6", "run.final_weights=" + folder_ / "late.safetensors"});
  EXPECT_EQ(weights.status, 0) << weights.err;
  EXPECT_GT(fs::file_size(folder_ / "late.safetensors"), 100000u);
  EXPECT_EQ(occurrences(weights.out, "nothing was left to do"), 0) << weights.out;
  EXPECT_EQ(occurrences(weights.out, "The weights were written to " + folder_ / "late.safetensors"), 1) << weights.out;
  EXPECT_EQ(state_of(run_), before) << "weights were asked for, which lie elsewhere";
  std::ofstream(run_ + "/STOP") << "";
  const auto stopped = state_of(run_);
  EXPECT_EQ(train(2, {"run.steps=9"}).status, 0);
  EXPECT_EQ(state_of(run_), stopped) << "STOP was there";
}

TEST_F(Starts, ThatTakeStepsKeepTheirConfigurationAndPlacement) {
  ASSERT_EQ(train(4, {"run.steps=2", "parallel.tensor=2"}).status, 0);
  ASSERT_EQ(train(2, {"run.steps=2"}).status, 0);  // none
  ASSERT_EQ(train(1, {"run.steps=3", "optimizer.clip=0.5"}).status, 0);
  ASSERT_EQ(names_in(run_ + "/starts"), (Words{"0001", "0002"}));
  const std::vector<std::pair<int, const char*>> starts = {{4, "from step 0"}, {1, "from step 2"}};
  for (std::size_t k = 0; k < 2; ++k) {
    const std::string own = fmt::format("{}/starts/000{}", run_, k + 1), config = read_text(own + "/config.toml");
    EXPECT_EQ(occurrences(read_text(own + "/topology.tsv"), "\n"), starts[k].first + 1);
    EXPECT_NE(config.find(starts[k].second), std::string::npos) << config;
    EXPECT_EQ(occurrences(config, "clip = 0.5"), k);
  }
  EXPECT_EQ(read_text(run_ + "/config.toml"), read_text(run_ + "/starts/0002/config.toml"));
  EXPECT_EQ(read_text(run_ + "/topology.tsv"), read_text(run_ + "/starts/0002/topology.tsv"));
}

TEST_F(Starts, ThatAreRefusedLateLeaveNoFolderOrTheOneThatWas) {
  const std::string weights = folder_ / "weights.safetensors";
  ASSERT_EQ(train(1, {"run.steps=1", "run.final_weights=" + weights}).status, 0);
  fs::remove_all(folder_ / "some");
  const auto offset = store::SafetensorsReader(weights).tensors().front().begin;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::fstream file(weights, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(offset);
  file.write(reinterpret_cast<const char*>(&nan), 4);
  file.close();
  const Words start = {"run.steps=2", "model.initial=" + weights};
  const Result result = train(2, start);
  EXPECT_EQ(result.status, 2) << result.err;
  EXPECT_FALSE(fs::exists(folder_ / "some")) << "folders above it were made too";
  fs::create_directories(run_);
  EXPECT_EQ(train(2, start).status, 2);
  EXPECT_EQ(names_in(run_), Words{}) << "an empty folder stays an empty folder";
  std::ofstream(run_ + "/status") << "85 saved at step 1 of 2: signal USR1, received by rank 0\n";
  std::ofstream(run_ + "/config.toml") << "# an earlier start's\n";
  std::ofstream(run_ + "/metrics.csv") << "an earlier start's\n";
  std::ofstream(run_ + "/log.txt") << "an earlier start's\n";
  const auto before = state_of(run_);
  EXPECT_EQ(train(2, start).status, 2);
  EXPECT_EQ(state_of(run_), before);
}

TEST_F(Starts, ThatFailByThemselvesDoNotSayRunning) {
  for (const char* name : {"config.toml", "topology.tsv", "metrics.csv"}) {
    fs::create_directories(run_ + "/" + name + "/something");
    const Result result = train(2, {"run.steps=2"});
    EXPECT_EQ(result.status, 1) << name << result.err;
    EXPECT_TRUE(read_text(run_ + "/status").starts_with("1 " + run_ + "/" + name)) << read_text(run_ + "/status");
    fs::remove_all(run_);
  }
  fs::create_directories(run_);
  std::ofstream(run_ + "/starts") << "a file, where a folder should be";
  EXPECT_EQ(train(2, {"run.steps=2"}).status, 1);
  EXPECT_TRUE(read_text(run_ + "/status").starts_with("1 ")) << read_text(run_ + "/status");
}

TEST_F(Starts, CorrectTheWordOfARunThatWasKilledWhenItWasDone) {
  ASSERT_EQ(train(2, {"run.steps=2"}).status, 0);
  std::ofstream(run_ + "/status") << "running\n";
  const Result result = train(2, {"run.steps=2"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(read_text(run_ + "/status"), "0 done\n");
}

/// A start that STOP met before its first step, in the folder of one that was killed.
TEST_F(Starts, DoNotCallARunDoneThatIsNot) {
  for (const auto& [before, after] : {std::pair{"running\n", "0 ended before the first step: STOP is there\n"},
                                      {"85 saved at step 3 of 6\n", "85 saved at step 3 of 6\n"}}) {
    fs::create_directories(run_);
    std::ofstream(run_ + "/status") << before;
    folder::RunFolder(run_).end(base::Exit::done, "ended before the first step: STOP is there");
    EXPECT_EQ(read_text(run_ + "/status"), after);
  }
}

}  // namespace
}  // namespace trireme::test
