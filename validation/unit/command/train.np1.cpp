// `trireme train` as a user meets it: wrong inputs, a killed rank, what a run leaves behind.
#include <algorithm>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "data/token_writer.h"
#include "store/safetensors.h"
#include "validation/unit/support/overrides.h"
#include "validation/unit/support/run_files.h"

namespace trireme::test {
namespace {

std::vector<std::string> tiny(const std::string& run, const std::vector<std::string>& more) {
  return with_values({"train", "input/tiny.toml", "run.directory=" + run}, more);
}

struct Wrong {
  std::string name;
  int ranks;
  std::vector<std::string> values;
  std::vector<std::string> says;  // the first once, all of them somewhere
};

/// Token files with one defect each, and a text file, in `folder`.
void make_token_files(const Folder& folder) {
  for (const char* name : {"good", "short", "magic", "large"}) {
    data::TokenWriter writer(folder / name, 300);
    std::vector<std::int32_t> ids(4000, 65);
    if (std::string(name) == "large") ids[1234] = 256;
    writer.append(ids);
    writer.end_document();
    writer.finish();
  }
  fs::resize_file(folder / "short.bin", 7998);
  std::fstream(folder / "magic.idx", std::ios::in | std::ios::out | std::ios::binary) << "NOTANIDX";
}

class WrongInput : public testing::Test {
 protected:
  WrongInput() { make_token_files(folder_); }

  std::string tokens(const char* name) { return "data.tokens=" + folder_ / name; }

  void expect(const Wrong& wrong) {
    SCOPED_TRACE(wrong.name);
    const std::string directory = folder_ / "run";
    const Result result = run(on_ranks(wrong.ranks, tiny(directory, wrong.values)), 60);
    EXPECT_EQ(result.status, 2) << result.out << result.err;
    for (const std::string& part : wrong.says) EXPECT_NE(result.err.find(part), std::string::npos) << part << "\n" << result.err;
    EXPECT_EQ(occurrences(result.err, wrong.says.front()), 1) << result.err;
    EXPECT_FALSE(fs::exists(directory)) << "a run folder was made";
  }

  Folder folder_;
};

TEST_F(WrongInput, IsOneMessageAndStatus2OnFourRanks) {
  const auto with = [&](const std::string& value) { return std::vector<std::string>{"data.synthetic=false", value}; };
  const std::vector<Wrong> table = {
      {"unknown key", 4, {"model.layer=4"}, {"unknown key", "model.layer", "model.layers"}},
      {"t does not divide heads",
       4,
       {"model.heads=2", "parallel.tensor=4"},
       {"does not divide", "parallel.tensor", "model.heads"}},
      {"p > layers", 4, {"model.layers=2", "parallel.pipeline=4"}, {"cannot fill", "parallel.pipeline", "model.layers"}},
      {"B not divisible by b d", 4, {"batch.global=18"}, {"is not a whole number of microbatches", "batch.global", "16 or 20"}},
      {"evaluation not divisible by b d",
       4,
       {"run.evaluate_every=5", "run.evaluate_samples=6"},
       {"is not a multiple", "run.evaluate_samples", "4 or 8"}},
      {"no token file", 4, with(tokens("none")), {"none.idx"}},
      {"truncated .bin", 4, with(tokens("short")), {"short.bin"}},
      {"other magic", 4, with(tokens("magic")), {"magic.idx"}},
      {"id out of range", 4, with(tokens("large")), {"large.bin", "1234", "256"}},
      {"fewer held-out samples than an evaluation takes",
       4,
       {"data.synthetic=false", tokens("good"), "data.validation=" + folder_ / "good", "run.evaluate_every=1",
        "run.evaluate_samples=100000"},
       {"run.evaluate_samples = 100000", "4000 tokens", "lower run.evaluate_samples"}},
      {"fewer samples than a step takes",
       4,
       {"data.synthetic=false", tokens("good"), "batch.global=4000"},
       {"batch.global = 4000", "lower batch.global"}},
      {"a path for the shell", 4, {"run.directory=~/x"}, {"~ is not expanded here", "run.directory"}},
      {"3 ranks for a 2 x 2 grid",
       3,
       {"parallel.tensor=2", "parallel.pipeline=2"},
       {"3 ranks", "parallel.tensor", "parallel.pipeline"}},
      {"nan", 4, {"optimizer.learning_rate=nan"}, {"not a finite number", "optimizer.learning_rate"}},
      {"negative", 4, {"model.layers=-8"}, {"out of range", "model.layers"}},
      {"overflow", 4, {"batch.global=99999999999999999999"}, {"does not fit", "batch.global"}},
      {"not built yet", 4, {"parallel.zero=1"}, {"not built", "parallel.zero"}},
      {"no start weights", 4, {"model.initial=" + folder_ / "none.safetensors"}, {"no such file or folder", "none.safetensors"}},
      {"other start weights",
       4,
       {"model.initial=validation/cases/even/model.safetensors"},
       {"does not fit the model", "wte.weight"}},
  };
  for (const Wrong& wrong : table) expect(wrong);
}

TEST_F(WrongInput, NamesAllMistakesAtOnce) {
  expect({"three",
          4,
          {"model.layer=4", "run.steps=x", "optimizer.clip=-1"},
          {"3 errors", "model.layer", "run.steps", "optimizer.clip"}});
}

TEST_F(WrongInput, FolderThatCannotBeWritten) {
  const std::string closed = folder_ / "closed";
  fs::create_directory(closed);
  fs::permissions(folder_.path(), fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec | fs::perms::others_read |
                                      fs::perms::group_read);
  fs::permissions(closed, fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec);
  const std::string copy = folder_ / "trireme", input = folder_ / "tiny.toml";  // readable whoever we become
  fs::copy_file(program(), copy);
  fs::copy_file("input/tiny.toml", input);
  std::vector<std::string> words = {launcher(), "-wdir", folder_.path().string(),           "-n", "4", copy,
                                    "train",    input,   "run.directory=" + closed + "/run"};
  if (geteuid() == 0) {  // root may write everywhere
    const std::vector<std::string> nobody = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
    words.insert(words.begin(), nobody.begin(), nobody.end());
  }
  const Result result = run(words, 60);
  EXPECT_EQ(result.status, 2) << result.out << result.err;
  EXPECT_EQ(occurrences(result.err, "run.directory"), 1) << result.err;
  EXPECT_FALSE(fs::exists(closed + "/run"));
}

TEST(TrainCommand, EndsWithinSecondsWhenARankIsKilled) {
  const Folder folder;
  const std::string directory = folder / "run";
  Process process(on_ranks(4, tiny(directory, {"run.steps=1000000", "parallel.tensor=2", "parallel.pipeline=2"})), folder);
  ASSERT_TRUE(reaches(directory, 2));
  const auto pids = ranks_of(directory);
  ASSERT_EQ(pids.size(), 4u);
  kill(pids[2], SIGKILL);
  const Result result = process.wait(20);
  EXPECT_NE(result.status, 0);
  EXPECT_NE(result.status, 124) << "the others went on";
  EXPECT_NE((result.out + result.err).find("Killed (signal 9)"), std::string::npos) << result.out << result.err;
  EXPECT_TRUE(ranks_of(directory).empty());
  EXPECT_EQ(read_text(directory + "/status"), "running\n");
  EXPECT_EQ(run(on_ranks(1, tiny(directory, {"run.steps=1"}))).status, 0) << "the dead run still holds its folder";
}

TEST(TrainCommand, RefusesAFolderThatARunHolds) {
  const Folder folder, other;
  const std::string directory = folder / "run";
  Process process(on_ranks(1, tiny(directory, {"run.steps=1000000"})), folder);
  ASSERT_TRUE(reaches(directory, 2));
  const auto holder = ranks_of(directory);
  ASSERT_EQ(holder.size(), 1u);
  const Result second = Process(on_ranks(2, tiny(directory, {})), other).wait(60);
  EXPECT_EQ(second.status, 2);
  EXPECT_NE(second.err.find(std::to_string(holder[0])), std::string::npos) << second.err;
  EXPECT_EQ(ranks_of(directory), holder) << "the first run was disturbed";
  kill(holder[0], SIGKILL);
  process.wait(20);
}

TEST(TrainCommand, StopsWith4WhenNumbersAreNotFinite) {
  const Folder folder;
  const Result result = run(on_ranks(2, tiny(folder / "run", {"optimizer.learning_rate=1e30", "optimizer.min_learning_rate=0",
                                                              "optimizer.warmup_steps=0", "parallel.pipeline=2"})));
  EXPECT_EQ(result.status, 4) << result.err;
  EXPECT_EQ(occurrences(result.err, ": not finite;"), 1) << result.err;
  EXPECT_NE(result.err.find("the first is in microbatch 0, forward, "), std::string::npos) << result.err;
  EXPECT_EQ(read_text(folder / "run/status").substr(0, 2), "4 ");
}

TEST(TrainCommand, RefusesStartWeightsThatAreNotFinite) {
  const Folder folder;
  const std::string weights = folder / "start.safetensors";
  ASSERT_EQ(run(on_ranks(1, tiny(folder / "a", {"run.steps=1", "run.final_weights=" + weights}))).status, 0);
  const store::SafetensorsReader reader(weights);
  const auto& tensors = reader.tensors();
  const auto found = std::find_if(tensors.begin(), tensors.end(), [](const auto& one) { return one.name == "h.5.ln_2.bias"; });
  ASSERT_NE(found, tensors.end());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::fstream file(weights, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(found->begin + 4 * 7);
  file.write(reinterpret_cast<const char*>(&nan), 4);
  file.close();
  const Result result = run(on_ranks(4, tiny(folder / "b", {"parallel.pipeline=4", "model.initial=" + weights})));
  EXPECT_EQ(result.status, 2) << result.err;
  EXPECT_EQ(occurrences(result.err, weights), 1) << result.err;
  EXPECT_NE(result.err.find("layers.5.norm2.bias (1 of 64 values on rank 2"), std::string::npos) << result.err;
}

/// Loss and gradient of the only step are finite; its update overflows.
TEST(TrainCommand, WeightsThatOverflowedAreNotSaved) {
  const Folder folder;
  const Result result =
      run(on_ranks(2, tiny(folder / "run", {"optimizer.learning_rate=1e38", "optimizer.weight_decay=1e10", "run.steps=1"})));
  EXPECT_EQ(result.status, 4) << result.err;
  EXPECT_NE(result.err.find("weights are not finite, the first embedding.tokens.weight"), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(folder / "run/checkpoints"));
}

TEST(TrainCommand, ATraceThatCannotBeWrittenCostsNothingElse) {
  const Folder folder;
  fs::create_directory(folder / "run");
  std::ofstream(folder / "run/traces") << "a file, where a folder should be";
  const Result result = run(on_ranks(2, tiny(folder / "run", {"trace.steps=2", "run.steps=3"})));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(occurrences(result.err, "traces"), 1) << result.err;
  EXPECT_EQ(read_text(folder / "run/status"), "0 done\n");
}

TEST(TrainCommand, LeavesAConfigurationThatRunsTheSame) {
  const Folder folder;
  const auto losses = [&](const std::string& run_name) {
    std::vector<std::string> cells;
    std::istringstream lines(read_text(folder / (run_name + "/metrics.csv")));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream row(line);
      std::string step, cell;
      std::getline(row, step, ',');
      for (int k = 0; k < 3; ++k) std::getline(row, cell, ',');
      cells.push_back(step + " " + cell);
    }
    return cells;
  };
  ASSERT_EQ(run(on_ranks(4, tiny(folder / "a", {"parallel.tensor=2", "run.seed=9", "run.evaluate_every=10"}))).status, 0);
  ASSERT_EQ(run(on_ranks(4, {"train", folder / "a/config.toml", "run.directory=" + folder / "b"})).status, 0);
  EXPECT_EQ(losses("a").size(), 21u);
  EXPECT_EQ(losses("a"), losses("b"));
  EXPECT_EQ(read_text(folder / "a/status"), "0 done\n");
  EXPECT_FALSE(fs::exists(folder / "a/lock"));
  EXPECT_EQ(occurrences(read_text(folder / "a/topology.tsv"), "\n"), 5);

  const auto summary = nlohmann::json::parse(read_text(folder / "a/summary.json"));
  ASSERT_EQ(summary["ranks"].size(), 4u);
  EXPECT_EQ(summary["ranks"][3]["tensor"], 1);
  EXPECT_EQ(summary["ranks"][3]["data"], 1);
  EXPECT_EQ(summary["ranks"][0]["actions"]["forward"], 20 * 8);  // m = 16 / d
  EXPECT_GT(summary["ranks"][0]["bytes"]["dp_all_reduce"], 0);
}

TEST(TrainCommand, WritesTheWeightsItStartedFromWhenTheLearningRateIs0) {
  const Folder folder;
  const std::string original = "validation/cases/odd/model.safetensors", copy = folder / "final.safetensors";
  const std::vector<std::string> words = {"train",
                                          "validation/cases/odd/input.toml",
                                          "run.directory=" + folder / "run",
                                          "run.final_weights=" + copy,
                                          "optimizer.learning_rate=0",
                                          "optimizer.min_learning_rate=0",
                                          "run.steps=1",
                                          "parallel.tensor=3",
                                          "parallel.pipeline=2"};
  const Result result = run(on_ranks(6, words));
  ASSERT_EQ(result.status, 0) << result.err;
  const store::SafetensorsReader before(original), after(copy);
  ASSERT_EQ(after.tensors().size(), before.tensors().size());
  for (const auto& tensor : before.tensors()) {
    std::vector<float> a(store::elements_of(tensor.shape)), b(a.size());
    before.read_hyperslab(tensor.name, store::Shape(tensor.shape.size(), 0), tensor.shape, a.data());
    after.read_hyperslab(tensor.name, store::Shape(tensor.shape.size(), 0), tensor.shape, b.data());
    EXPECT_EQ(a, b) << tensor.name;
  }
}

TEST(TrainCommand, HelpListsTheKeysOnce) {
  const Result result = run(on_ranks(2, {"train", "--help"}));
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(occurrences(result.out, "maximum_skips"), 1);
}

}  // namespace
}  // namespace trireme::test
