// `trireme checkpoint` as a user meets it. Oracles: the bytes that were imported, the formula of the small checkpoint, what the
// test broke; exact.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/half.h"
#include "validation/unit/support/process.h"
#include "validation/unit/support/small_gpt2.h"

namespace trireme::test {
namespace {

Result checkpoint(std::vector<std::string> words) {
  words.insert(words.begin(), {program().string(), "checkpoint"});
  return run(words);
}

/// `heads`: in its metadata.
std::string write_model(const std::string& path, bool heads = true) {
  return write_gpt2_file(
      path, {.metadata = heads ? std::map<std::string, std::string>{{"heads", "4"}} : std::map<std::string, std::string>{}});
}

class CheckpointCommand : public testing::Test {
 protected:
  Folder folder_;
  const std::string model_ = folder_ / "model.safetensors", step_ = folder_ / "start/step-00000000";
};

TEST_F(CheckpointCommand, ImportAndExportGiveTheSameBytes) {
  write_model(model_);
  const Result imported = checkpoint({"import", model_, step_ + "/"});
  ASSERT_EQ(imported.status, 0) << imported.err;
  const store::CheckpointReader reader(step_);
  EXPECT_EQ(all_faults(reader), std::vector<std::string>{});
  EXPECT_EQ(reader.manifest().step, 0);
  EXPECT_FALSE(reader.manifest().moments);
  EXPECT_EQ(reader.manifest().config, "[model]\nlayers = 2\nhidden = 8\nheads = 4\nsequence = 6\nvocabulary = 301\n");
  for (const std::string& where : {step_, folder_ / "start"}) {
    const Result exported = checkpoint({"export", where, folder_ / "back.safetensors"});
    ASSERT_EQ(exported.status, 0) << exported.err;
    EXPECT_EQ(read_text(folder_ / "back.safetensors"), read_text(model_));
  }
  const Result again = checkpoint({"import", model_, step_});
  EXPECT_EQ(again.status, 2);
  EXPECT_TRUE(says(again, step_ + ": exists already")) << again.err;
}

TEST_F(CheckpointCommand, ExportRoundsToHalves) {
  write_model(model_);
  ASSERT_EQ(checkpoint({"import", model_, step_}).status, 0);
  const store::SafetensorsReader before(model_);
  for (const std::string dtype : {"bf16", "fp16"}) {
    const std::string path = folder_ / (dtype + ".safetensors");
    ASSERT_EQ(checkpoint({"export", step_, path, "--dtype", dtype}).status, 0);
    const store::SafetensorsReader after(path);
    EXPECT_LT(fs::file_size(path), fs::file_size(model_));
    for (const auto& tensor : before.tensors()) {
      std::vector<float> a(store::elements_of(tensor.shape)), b(a.size());
      before.read_hyperslab(tensor.name, store::Shape(tensor.shape.size(), 0), tensor.shape, a.data());
      after.read_hyperslab(tensor.name, store::Shape(tensor.shape.size(), 0), tensor.shape, b.data());
      for (float& value : a)
        value = dtype == "bf16" ? base::from_bf16(base::to_bf16(value)) : base::from_fp16(base::to_fp16(value));
      EXPECT_EQ(a, b) << tensor.name;
    }
  }
  EXPECT_EQ(checkpoint({"export", step_, folder_ / "x.safetensors", "--dtype", "fp8"}).status, 2);
}

TEST_F(CheckpointCommand, ExportDoesNotReplaceWhatItReads) {
  write_model(model_);
  ASSERT_EQ(checkpoint({"import", model_, step_}).status, 0);
  for (const fs::path& file : fs::directory_iterator(step_)) {
    const std::string before = read_text(file);
    const Result result = checkpoint({"export", step_, file.string()});
    EXPECT_EQ(result.status, 2) << file;
    EXPECT_TRUE(says(result, "would replace the input")) << result.err;
    EXPECT_EQ(read_text(file), before) << file;
  }
}

TEST_F(CheckpointCommand, HeadsAreToldByAConfigOrTheCommandLine) {
  write_model(model_, false);
  const Result untold = checkpoint({"import", model_, step_});
  EXPECT_EQ(untold.status, 2);
  EXPECT_TRUE(says(untold, "add heads=N")) << untold.err;
  EXPECT_FALSE(fs::exists(folder_ / "start")) << "something was made";
  for (const std::string value : {"heads=4", "model.heads=2"}) {
    const std::string step = folder_ / value;
    EXPECT_EQ(checkpoint({"import", model_, step, value}).status, 0);
    EXPECT_TRUE(says(checkpoint({"show", step, "--config"}), "heads = " + value.substr(value.size() - 1)));
  }
  EXPECT_TRUE(says(checkpoint({"import", model_, step_, "heads=3"}), "does not divide"));
  EXPECT_EQ(checkpoint({"import", model_, step_, "vocabulary=300"}).status, 2);
  std::ofstream(folder_ / "config.json") << R"({"n_head": 4})";
  EXPECT_EQ(checkpoint({"import", model_, step_}).status, 0);
}

TEST_F(CheckpointCommand, ImportsAModelInSeveralFiles) {
  write_model(model_);
  const store::SafetensorsReader whole(model_);
  std::string map;
  for (int part = 0; part < 3; ++part) {
    const std::string name = fmt::format("part-{}.safetensors", part);
    std::vector<store::SafetensorsEntry> entries;
    for (std::size_t k = part; k < whole.tensors().size(); k += 3)
      entries.push_back({"transformer." + whole.tensors()[k].name, whole.tensors()[k].shape});
    store::SafetensorsWriter writer(folder_ / name, entries, {{"heads", "4"}});
    for (const auto& entry : entries) {
      std::vector<float> values(store::elements_of(entry.shape));
      whole.read_hyperslab(entry.name.substr(12), store::Shape(entry.shape.size(), 0), entry.shape, values.data());
      writer.write(entry.name, values.data(), std::ssize(values));
      map += fmt::format("{}\"{}\": \"{}\"", map.empty() ? "" : ", ", entry.name, name);
    }
    writer.finish();
  }
  std::ofstream(folder_ / "model.safetensors.index.json") << "{\"weight_map\": {" + map + "}}";
  const Result imported = checkpoint({"import", folder_ / "model.safetensors.index.json", step_});
  ASSERT_EQ(imported.status, 0) << imported.err;
  ASSERT_EQ(checkpoint({"export", step_, folder_ / "back.safetensors"}).status, 0);
  EXPECT_EQ(read_text(folder_ / "back.safetensors"), read_text(model_));
}

/// Oracle: the keys and values that Hugging Face's GPT2Config has for this model; the weights that went in.
TEST_F(CheckpointCommand, ExportMakesAFolderForFromPretrained) {
  write_model(model_);
  ASSERT_EQ(checkpoint({"import", model_, step_}).status, 0);
  const std::string out = folder_ / "new/hf";
  const Result exported = checkpoint({"export", step_, out});
  ASSERT_EQ(exported.status, 0) << exported.err;
  EXPECT_TRUE(says(exported, out + "/model.safetensors"));
  EXPECT_EQ(read_text(out + "/model.safetensors"), read_text(model_));
  const auto config = nlohmann::json::parse(read_text(out + "/config.json"));
  const nlohmann::json expected = {{"model_type", "gpt2"},
                                   {"activation_function", "gelu_new"},
                                   {"layer_norm_epsilon", 1e-5},
                                   {"n_layer", 2},
                                   {"n_embd", 8},
                                   {"n_head", 4},
                                   {"n_positions", 6},
                                   {"vocab_size", 301},
                                   {"tie_word_embeddings", true},
                                   {"scale_attn_weights", true},
                                   {"n_inner", nullptr},
                                   {"architectures", {"GPT2LMHeadModel"}},
                                   {"torch_dtype", "float32"}};
  for (const auto& [key, value] : expected.items()) EXPECT_EQ(config.value(key, nlohmann::json("none")), value) << key;

  // and back, as a folder; then over it, since it describes the same model, whatever else it says
  const std::string again = folder_ / "again/step-00000000";
  ASSERT_EQ(checkpoint({"import", out, again}).status, 0);
  write_text(out + "/config.json", R"({"n_layer":2,"n_embd":8,"n_head":4,"n_positions":6,"vocab_size":301,"my":"own"})");
  EXPECT_EQ(checkpoint({"export", again, out, "--dtype", "bf16"}).status, 0);
  EXPECT_TRUE(says(checkpoint({"import", out + "/", folder_ / "third"}), "2 layers"));
  EXPECT_NE(read_text(out + "/config.json").find("own"), std::string::npos) << "the user's file was replaced";
}

TEST_F(CheckpointCommand, ExportDoesNotPairWeightsWithTheConfigOfOthers) {
  write_model(model_);
  ASSERT_EQ(checkpoint({"import", model_, step_}).status, 0);
  fs::create_directory(folder_ / "hf");
  const std::string config = folder_ / "hf/config.json";
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {R"({"n_layer":3,"n_embd":8,"n_head":4,"n_positions":6,"vocab_size":301})", "n_layer = 3, this model 2"},
           {R"({"n_layer":2,"n_embd":8,"n_head":2,"n_positions":6,"vocab_size":301})", "n_head = 2, this model 4"},
           {R"({"n_layer":2,"n_embd":8,"n_head":4,"n_positions":6,"vocab_size":301,"activation_function":"relu"})", "relu"},
           {"no JSON", "not JSON, or cut or damaged"},
           {"[]", "not a JSON object"}}) {
    write_text(config, text);
    for (const std::string& to : {folder_ / "hf", folder_ / "hf/model.safetensors"}) {
      const Result result = checkpoint({"export", step_, to});
      EXPECT_EQ(result.status, 2) << text;
      EXPECT_TRUE(says(result, config)) << result.err;
      EXPECT_TRUE(says(result, why)) << result.err;
    }
    EXPECT_EQ(read_text(config), text);
    EXPECT_FALSE(fs::exists(folder_ / "hf/model.safetensors"));
  }
  // A file of another name is no part of the pair.
  EXPECT_EQ(checkpoint({"export", step_, folder_ / "hf/other.safetensors"}).status, 0);
  EXPECT_EQ(read_text(config), "[]");
}

TEST_F(CheckpointCommand, AnExportThatFailsLeavesNothing) {
  write_model(model_);
  ASSERT_EQ(checkpoint({"import", model_, step_}).status, 0);
  // no room: the file may have 8 KiB, the model has 17
  const Result full = run({"/bin/bash", "-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"", program().string(), "checkpoint",
                           "export", step_, folder_ / "full"});
  EXPECT_EQ(full.status, 1) << full.err;
  EXPECT_TRUE(says(full, folder_ / "full/model.safetensors")) << full.err;
  EXPECT_FALSE(fs::exists(folder_ / "full"));
  for (const auto& [to, why] : std::vector<std::pair<std::string, std::string>>{
           {model_ + "/below", "cannot make this folder"}, {folder_ / "none/x.safetensors", "there is no folder"}}) {
    const Result result = checkpoint({"export", step_, to});
    EXPECT_EQ(result.status, 2) << to;
    EXPECT_TRUE(says(result, why)) << result.err;
  }
  EXPECT_EQ(checkpoint({"export", step_, folder_ / "bad", "--dtype", "int8"}).status, 2);
  EXPECT_FALSE(fs::exists(folder_ / "bad"));
}

/// The tensor of a version to come: the manifest says so, with a checksum that is right.
TEST_F(CheckpointCommand, ExportRefusesATensorThatGpt2HasNoNameFor) {
  write_model(model_);
  ASSERT_EQ(checkpoint({"import", model_, step_}).status, 0);
  store::Manifest manifest = store::manifest(read_text(step_ + "/manifest.json"), "manifest");
  manifest.config = "[model]\nlayers = 1\nhidden = 8\nheads = 4\nsequence = 6\nvocabulary = 301\n";
  write_text(step_ + "/manifest.json", store::to_json(manifest));
  const Result result = checkpoint({"export", step_, folder_ / "hf"});
  EXPECT_EQ(result.status, 2) << result.err;
  EXPECT_TRUE(says(result, "layers.1.norm1.weight, for which GPT-2's format has no name")) << result.err;
  EXPECT_FALSE(fs::exists(folder_ / "hf"));
}

TEST_F(CheckpointCommand, ShowSaysWhatItIs) {
  fs::create_directory(folder_ / "run");
  write_checkpoint(folder_ / "run/checkpoints", small_model(2), {2, 2, 1}, 7);
  for (const std::string& where : {folder_ / "run", folder_ / "run/checkpoints", folder_ / "run/checkpoints/step-00000007"}) {
    const Result shown = checkpoint({"show", where, "--tensors"});
    EXPECT_EQ(shown.status, 0) << shown.err;
    // 301 * 8 + 6 * 8 + 2 (12 * 8 * 8 + 13 * 8) + 2 * 8
    for (const char* part : {"step 7, samples 112, loss scale 0.1, run run-1", "4216 parameters in 28 tensors, with", "4 files",
                             "layers.1.attention.qkv.weight            [3, 4, 2, 8]              2"})
      EXPECT_TRUE(says(shown, part)) << part << "\n" << shown.out;
  }
}

TEST_F(CheckpointCommand, VerifyNamesEachWrongFileAndEndsWith3) {
  fs::create_directory(folder_ / "run");
  const std::string step = write_checkpoint(folder_ / "run/checkpoints", small_model(2), {2, 2, 1}, 7);
  const Result right = checkpoint({"verify", folder_ / "run"});
  EXPECT_EQ(right.status, 0) << right.err;
  EXPECT_TRUE(says(right, "shard-p001-t001-d000.h5")) << right.out;
  EXPECT_FALSE(says(right, "WRONG"));

  fs::remove(step + "/shard-p000-t001-d000.h5");
  std::ofstream(step + "/shard-p001-t000-d000.h5", std::ios::app) << "x";
  const Result wrong = checkpoint({"verify", step});
  EXPECT_EQ(wrong.status, 3);
  for (const std::string& part : {step + "/shard-p000-t001-d000.h5: No such file", step + "/shard-p001-t000-d000.h5: "})
    EXPECT_NE(wrong.err.find(part), std::string::npos) << wrong.err;
  EXPECT_EQ(checkpoint({"export", step, folder_ / "x"}).status, 3);
  EXPECT_FALSE(fs::exists(folder_ / "x"));

  fs::resize_file(step + "/manifest.json", 1000);
  for (const char* word : {"verify", "show"}) {
    const Result cut = checkpoint({word, folder_ / "run"});
    EXPECT_EQ(cut.status, 3);
    EXPECT_TRUE(says(cut, step + "/manifest.json: not JSON, or cut or damaged")) << cut.err;
  }
}

TEST_F(CheckpointCommand, BadInputIs2) {
  std::ofstream(folder_ / "text.safetensors") << "no model at all";
  fs::create_directory(folder_ / "empty");
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{}, "subcommand"},
      {{"shwo", step_}, "unknown command 'shwo': did you mean show?"},
      {{"something", step_}, "unknown command 'something'; trireme checkpoint --help"},
      {{"show"}, "STEP_DIR is required"},
      {{"show", folder_ / "nowhere"}, "nowhere: no checkpoint here"},
      {{"verify", folder_.path()}, "no checkpoint here"},
      {{"import", folder_ / "none.safetensors", step_}, "none.safetensors"},
      {{"import", folder_ / "text.safetensors", step_}, "not a safetensors file"},
      {{"import", folder_ / "empty", step_}, "holds no .safetensors file"},
      {{"export", folder_ / "nowhere", model_}, "no checkpoint here"}};
  for (const auto& [words, message] : wrong) {
    const Result result = checkpoint(words);
    EXPECT_EQ(result.status, 2) << message << result.out;
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
  }
  EXPECT_FALSE(fs::exists(folder_ / "start"));
  EXPECT_EQ(checkpoint({"export", "--help"}).status, 0);
}

}  // namespace
}  // namespace trireme::test
