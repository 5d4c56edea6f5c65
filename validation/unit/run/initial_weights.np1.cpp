// A run that starts from Hugging Face's weights, and one that writes them, as a user meets it. Oracles: the weights that went in
// (learning rate 0), the keys of GPT2Config; exact.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "validation/unit/support/run_files.h"
#include "validation/unit/support/small_gpt2.h"

namespace trireme::test {
namespace {

/// A step of a run that changes nothing: the model small_model(2) of small_gpt2.h.
class InitialWeights : public testing::Test {
 protected:
  Folder folder_;
  const std::string hf_ = folder_ / "hf", config_ = hf_ + "/config.json", run_ = folder_ / "run";

  InitialWeights() {
    fs::create_directory(hf_);
    write_text(folder_ / "input.toml",
               "[model]\nlayers = 2\nhidden = 8\nheads = 4\nsequence = 6\nvocabulary = 301\n[batch]\nglobal = 4\n[optimizer]\n"
               "learning_rate = 0\nmin_learning_rate = 0\n[data]\nsynthetic = true\n[run]\nsteps = 1\nthreads = 1\n");
  }
  Result train(int ranks, std::vector<std::string> more) const {
    std::vector<std::string> words = {"train", folder_ / "input.toml", "run.directory=" + run_};
    words.insert(words.end(), more.begin(), more.end());
    return run(on_ranks(ranks, words));
  }
};

TEST_F(InitialWeights, AFolderOfHuggingFacesIsTakenAndWrittenAgain) {
  write_gpt2_file(hf_ + "/model.safetensors", {.prefix = "transformer.", .embedding = "lm_head.weight"});
  write_text(config_, R"({"model_type": "gpt2", "n_head": 4, "activation_function": "gelu_new"})");
  fs::create_directory(folder_ / "out");
  const std::string out = folder_ / "out/model.safetensors";
  const Result result =
      train(4, {"model.initial=" + hf_, "run.final_weights=" + out, "parallel.tensor=2", "parallel.pipeline=2"});
  ASSERT_EQ(result.status, 0) << result.err;
  const store::SafetensorsReader written(out);
  for (const spec::Parameter& parameter : spec::model_parameters(small_model(2))) {
    const store::Gpt2Name form = store::gpt2_name(parameter);
    std::vector<float> values(static_cast<std::size_t>(parameter.elements()));
    written.read_hyperslab(form.name, store::Shape(form.shape.size(), 0), form.shape, values.data());
    for (std::size_t k = 0; k < values.size(); ++k)
      ASSERT_EQ(values[k], small_value(parameter, static_cast<std::int64_t>(k))) << form.name;
  }
  const auto config = nlohmann::json::parse(read_text(folder_ / "out/config.json"));
  EXPECT_EQ(config["n_head"], 4);
  EXPECT_EQ(config["n_layer"], 2);
  EXPECT_EQ(config["model_type"], "gpt2");
}

/// A run that goes on has weights of its own. What else is changed has an effect.
TEST_F(InitialWeights, AreNotReadByARunThatGoesOnAndThatIsSaid) {
  write_gpt2_file(hf_ + "/model.safetensors");
  const std::string unread = ", which has no effect: a run that goes on does not read this key\n", name = "model.initial: ";
  const auto goes_on = [&](const std::string& steps, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"run.steps=" + steps, "run.log_every=" + steps};
    words.insert(words.end(), more.begin(), more.end());
    const Result result = train(1, words);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_NE(result.out.find("  changed since: run.log_every: "), std::string::npos) << result.out;
    EXPECT_EQ(occurrences(result.out, unread), occurrences(result.out, "changed since: " + name)) << result.out;
    return occurrences(result.out, unread);
  };
  ASSERT_EQ(train(1, {}).status, 0);
  EXPECT_EQ(goes_on("2", {"model.initial=" + hf_}), 1) << "added";
  EXPECT_EQ(goes_on("3", {"model.initial=" + hf_}), 0) << "the same";
  EXPECT_EQ(goes_on("4", {}), 1) << "taken away";
  EXPECT_EQ(goes_on("5", {"model.initial=" + hf_, "--weights-only"}), 1) << "with the weights of the checkpoint alone";
}

TEST_F(InitialWeights, WhatIsForAnotherModelIsRefusedOnceBeforeAnythingIsMade) {
  write_gpt2_file(hf_ + "/model.safetensors");
  fs::create_directory(folder_ / "empty");
  struct Case {
    std::string config;
    std::vector<std::string> words;
    std::string says;
  };
  const std::vector<Case> cases = {
      {R"({"activation_function": "relu"})", {"model.initial=" + hf_}, config_ + ": the weights beside it are for a model"},
      {R"({"n_inner": 16})", {"model.initial=" + hf_ + "/model.safetensors"}, "n_inner = 16"},
      {R"({"n_layer": 3})", {"run.final_weights=" + hf_ + "/model.safetensors"}, config_ + ": this file is there already"},
      {"{}", {"model.initial=" + (folder_ / "empty")}, folder_ / "empty" + ": this folder holds neither weights"}};
  for (const Case& one : cases) {
    write_text(config_, one.config);
    const Result result = train(2, one.words);
    EXPECT_EQ(result.status, 2) << one.says;
    EXPECT_EQ(occurrences(result.err, one.says), 1) << result.err;
    EXPECT_FALSE(fs::exists(run_)) << one.says;
    EXPECT_EQ(read_text(config_), one.config);
  }
}

}  // namespace
}  // namespace trireme::test
