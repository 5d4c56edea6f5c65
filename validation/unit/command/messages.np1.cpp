// What a user reads who made a mistake, or who is not told enough: which key, where it stands, where a file was looked for, what
// to do. Oracle: the words, and what is on the disk.
#include <gtest/gtest.h>

#include "validation/unit/support/run_files.h"
#include "validation/unit/support/small_checkpoint.h"

namespace trireme::test {
namespace {

using Words = std::vector<std::string>;

class Messages : public testing::Test {
 protected:
  Messages() {
    std::ofstream(folder_ / "text.txt") << std::string(4000, 'a') << "\n";
    EXPECT_EQ(call({"prepare", "text.txt", "--output", "mine"}).status, 0);
    std::ofstream(input_) << "[model]\nlayers = 2\nhidden = 8\nheads = 4\nsequence = 6\nvocabulary = 301\n[batch]\nglobal = 4\n"
                          << "[optimizer]\nlearning_rate = 1e-3\n[data]\ntokens = \"mine\"\nvalidation = \"held-out\"\n"
                          << "[run]\nsteps = 2\nthreads = 1\nevaluate_every = 1\nevaluate_samples = 4\ndirectory = \"run\"\n";
    fs::create_directory(folder_ / "empty");
  }

  /// In the folder of this test: relative paths mean something there.
  Result call(const Words& words, int ranks = 1) const {
    std::string command = "cd '" + folder_.path().string() + "' && ";
    if (words[0] == "train") command += launcher() + " -n " + std::to_string(ranks) + " ";
    command += program().string();
    for (const std::string& word : words) command += " '" + word + "'";
    return run({"sh", "-c", command}, 60);
  }
  std::string refusal(const Words& words, int ranks = 1) const {
    const Result result = call(words, ranks);
    EXPECT_EQ(result.status, 2) << result.out << result.err;
    return result.err;
  }
  static void expect_says(const std::string& text, const Words& parts) {
    for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }

  const Folder folder_;
  const std::string input_ = folder_ / "input.toml";
};

TEST_F(Messages, AMissingFileIsToldWithItsKeyItsLineAndWhereItWasLookedFor) {
  const std::string here = fs::canonical(folder_.path()).string();
  expect_says(refusal({"train", "input.toml"}, 2),
              {"data.validation = \"held-out\" (input.toml:13): held-out.idx: no such file",
               "(it was looked for at " + here + "/held-out.idx)", "trireme prepare makes one"});
  expect_says(refusal({"train", "input.toml", "data.tokens=gone"}),
              {"data.tokens = \"gone\" (command line): gone.idx: no such file", here + "/gone.idx"});
  expect_says(refusal({"train", "input.toml", "data.validation=mine", "model.initial=gone"}),
              {"model.initial = \"gone\" (command line): gone: no such file or folder", here + "/gone)"});
  expect_says(refusal({"train", "input.toml", "data.validation=mine", "run.final_weights=gone/w.safetensors"}),
              {"run.final_weights = \"gone/w.safetensors\" (command line): ", "there is no folder " + here + "/gone"});
  expect_says(refusal({"compare", "gone", "run"}), {"gone: no such file or folder", here + "/gone)"});
  expect_says(refusal({"checkpoint", "show", "gone"}), {"gone: no checkpoint here: there is no such folder", here + "/gone)"});
  expect_says(refusal({"plot", "gone"}), {"gone: no folder of a run", here + "/gone)"});
  // whoever runs the project's own example without its data
  const std::string novels = refusal({"train", "input.toml", "data.tokens=data/novels/train"});
  expect_says(novels, {"data.tokens = \"data/novels/train\"", "`make run` makes those of the novels"});
  EXPECT_EQ(refusal({"train", "input.toml", "data.tokens=data/mine"}).find("make run"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST_F(Messages, AFolderWithoutWeightsIsToldAsThat) {
  expect_says(refusal({"train", "input.toml", "data.validation=mine", "model.initial=empty"}, 2),
              {"model.initial = \"empty\" (command line): empty: this folder holds neither weights (a .safetensors file) nor a "
               "checkpoint"});
  std::ofstream(folder_ / "empty/model.safetensors") << "x";
  expect_says(refusal({"checkpoint", "show", "empty"}), {"empty: no checkpoint here, but weights; trireme checkpoint import"});
  expect_says(refusal({"checkpoint", "export", "text.txt", "w.safetensors"}), {"text.txt: no checkpoint here: it is a file"});
}

TEST_F(Messages, ADuplicateIsRefusedWhereverTheLastOneWouldWin) {
  expect_says(refusal({"check", "input.toml", "--ranks", "1", "run.steps=1", "run.steps=2"}),
              {"command line: error: run.steps has two values: run.steps=1 and run.steps=2; keep one of them"});
  expect_says(refusal({"schedule", "parallel.pipeline=2", "batch.global=8", "parallel.pipeline=4"}),
              {"parallel.pipeline has two values"});
  expect_says(refusal({"train", "input.toml", "model.initial=a", "run.steps=1", "model.initial="}, 3),
              {"model.initial has two values"});
  expect_says(refusal({"checkpoint", "import", "x.safetensors", "step", "heads=2", "heads=4"}),
              {"heads=2 heads=4: only heads=N can be given, and once"});
  EXPECT_EQ(call({"schedule", "parallel.pipeline=2", "batch.global=8", "parallel.pipeline=2"}).status, 0) << "nothing to choose";
}

/// Oracle: two runs that differ in the last digit, as those of two layouts do.
TEST_F(Messages, RunsThatDifferByRoundingAreToldWhatThatMeans) {
  for (const auto& [name, loss] : {std::pair{"a", "2.5000001"}, {"b", "2.5000002"}}) {
    fs::create_directory(folder_ / name);
    std::ofstream(folder_ / (std::string(name) + "/metrics.csv")) << "step,loss\n1," << loss << "\n";
  }
  const Result different = call({"compare", "a", "b"});
  EXPECT_EQ(different.status, 3) << different.err;
  expect_says(different.out, {"FAIL", "compared for equality", "--tolerance FILE", "[loss]\n  relative = "});
  expect_says(different.out, {"1 check, 0 passed, 1 failed"});
  EXPECT_EQ(call({"compare", "a", "a"}).out.find("equality"), std::string::npos);
  // what the message says to write is taken
  const std::string text = different.out.substr(different.out.find("  [loss]"));
  std::ofstream(folder_ / "limits.toml") << text;
  const Result within = call({"compare", "a", "b", "--tolerance", "limits.toml"});
  EXPECT_EQ(within.status, 0) << within.out << within.err;
  std::ofstream(folder_ / "limits.toml") << "[loss]\nabsolute = 0\nreason = \"none\"\n";
  EXPECT_EQ(call({"compare", "a", "b", "--tolerance", "limits.toml"}).out.find("equality"), std::string::npos);
}

TEST_F(Messages, OneThingIsCountedAsOne) {
  fs::create_directory(folder_ / "run");
  write_checkpoint(folder_ / "run/checkpoints", small_model(1), {1, 1, 1}, 7);
  expect_says(call({"checkpoint", "show", "run"}).out, {"moments; 1 file, "});
  expect_says(call({"schedule", "parallel.pipeline=1", "batch.global=1"}).out,
              {"1f1b: p = 1 stage, v = 1, m = 1 microbatch\n", "0 a step on 0 channels"});
  expect_says(
      call({"check", "input.toml", "model.layers=1", "run.steps=1", "batch.global=1", "data.tokens=mine", "--ranks", "1"}).out,
      {"input.toml on 1 rank;", "l = 1 layer,", "m 1 microbatch x", "run: 1 step, 1 sample, "});
  expect_says(call({"checkpoint", "export", "run", "w.safetensors"}).out, {"w.safetensors: step 7"});
  expect_says(call({"checkpoint", "import", "w.safetensors", "step"}).out, {" in 1 layer\n"});
}

}  // namespace
}  // namespace trireme::test
