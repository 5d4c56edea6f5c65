// `trireme checkpoint` as a user meets it. Oracles: the bytes that were imported, the formula of the small checkpoint, what the
// test broke; exact.
#include <gtest/gtest.h>

#include "base/half.h"
#include "store/gpt2_names.h"
#include "validation/unit/support/process.h"
#include "validation/unit/support/small_checkpoint.h"

namespace trireme::test {
namespace {

Result checkpoint(std::vector<std::string> words) {
  words.insert(words.begin(), {program().string(), "checkpoint"});
  return run(words);
}

bool says(const Result& result, const std::string& part) { return (result.out + result.err).find(part) != std::string::npos; }

const std::vector<spec::Parameter> parameters = spec::model_parameters(small_model(2));

/// A GPT-2 whose values are any finite bits of magnitude below 2; `heads`: in its metadata.
std::string write_model(const std::string& path, bool heads = true) {
  std::vector<store::SafetensorsEntry> entries;
  for (const auto& parameter : parameters)
    entries.push_back({store::gpt2_name(parameter).name, store::gpt2_name(parameter).shape});
  std::map<std::string, std::string> about;
  if (heads) about["heads"] = "4";
  store::SafetensorsWriter writer(path, entries, about);
  for (const auto& parameter : parameters) {
    std::vector<float> values;
    for (std::int64_t k = 0; k < parameter.elements(); ++k) {
      const std::uint32_t bits = bits_of(store::Quantity::parameters, parameter.name, k, 5) & 0xbfffffff;
      values.emplace_back();
      std::memcpy(&values.back(), &bits, 4);
    }
    writer.write(store::gpt2_name(parameter).name, values.data(), parameter.elements());
  }
  writer.finish();
  return path;
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
    const std::string path = folder_ / dtype;
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
  EXPECT_EQ(checkpoint({"export", step_, folder_ / "x", "--dtype", "fp8"}).status, 2);
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

TEST_F(CheckpointCommand, ShowSaysWhatItIs) {
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
    EXPECT_TRUE(says(cut, step + "/manifest.json: cut or damaged")) << cut.err;
  }
}

TEST_F(CheckpointCommand, BadInputIs2) {
  std::ofstream(folder_ / "text.safetensors") << "no model at all";
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{}, "subcommand"},
      {{"shwo", step_}, "unknown command 'shwo': did you mean show?"},
      {{"something", step_}, "unknown command 'something'; trireme checkpoint --help"},
      {{"show"}, "STEP_DIR is required"},
      {{"show", folder_ / "nowhere"}, "nowhere: no checkpoint here"},
      {{"verify", folder_.path()}, "no checkpoint here"},
      {{"import", folder_ / "none.safetensors", step_}, "none.safetensors"},
      {{"import", folder_ / "text.safetensors", step_}, "not a safetensors file"},
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
