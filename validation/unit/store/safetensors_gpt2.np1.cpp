// GPT-2's names and layouts on one rank. Oracle: the names and shapes of Hugging Face's GPT2LMHeadModel written out here, and the
// definition of Conv1D (y = x w, w [in, out]); exact, since only copies are made.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"
#include "store/gpt2_names.h"

namespace trireme::store {
namespace {

// One layer: h = 6, a = 3, h/a = 2, s = 5, V = 7.
const std::vector<std::pair<std::string, Shape>> table = {{"embedding.tokens.weight", {7, 6}},
                                                          {"embedding.positions.weight", {5, 6}},
                                                          {"layers.0.norm1.weight", {6}},
                                                          {"layers.0.norm1.bias", {6}},
                                                          {"layers.0.attention.qkv.weight", {3, 3, 2, 6}},
                                                          {"layers.0.attention.qkv.bias", {3, 3, 2}},
                                                          {"layers.0.attention.output.weight", {6, 6}},
                                                          {"layers.0.attention.output.bias", {6}},
                                                          {"layers.0.norm2.weight", {6}},
                                                          {"layers.0.norm2.bias", {6}},
                                                          {"layers.0.mlp.up.weight", {24, 6}},
                                                          {"layers.0.mlp.up.bias", {24}},
                                                          {"layers.0.mlp.down.weight", {6, 24}},
                                                          {"layers.0.mlp.down.bias", {6}},
                                                          {"final_norm.weight", {6}},
                                                          {"final_norm.bias", {6}}};

const std::vector<Gpt2Name> names = {{"wte.weight", {7, 6}, false},
                                     {"wpe.weight", {5, 6}, false},
                                     {"h.0.ln_1.weight", {6}, false},
                                     {"h.0.ln_1.bias", {6}, false},
                                     {"h.0.attn.c_attn.weight", {6, 18}, true},
                                     {"h.0.attn.c_attn.bias", {18}, false},
                                     {"h.0.attn.c_proj.weight", {6, 6}, true},
                                     {"h.0.attn.c_proj.bias", {6}, false},
                                     {"h.0.ln_2.weight", {6}, false},
                                     {"h.0.ln_2.bias", {6}, false},
                                     {"h.0.mlp.c_fc.weight", {6, 24}, true},
                                     {"h.0.mlp.c_fc.bias", {24}, false},
                                     {"h.0.mlp.c_proj.weight", {24, 6}, true},
                                     {"h.0.mlp.c_proj.bias", {6}, false},
                                     {"ln_f.weight", {6}, false},
                                     {"ln_f.bias", {6}, false}};

std::vector<spec::Parameter> parameters() {
  std::vector<spec::Parameter> list;
  for (const auto& [name, shape] : table) list.push_back({name, shape, {}, 0, false, {}});
  return list;
}

const spec::Parameter& parameter(const std::string& name) {
  static const auto list = parameters();
  return *std::find_if(list.begin(), list.end(), [&](const auto& one) { return one.name == name; });
}

spec::Slice slice(const Shape& start, const Shape& count) {
  spec::Slice part;
  part.start = start;
  part.count = count;
  return part;
}

class Gpt2 : public testing::Test {
 protected:
  Gpt2() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gpt2-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    for (const Gpt2Name& name : names) entries_.push_back({name.name, name.shape});
  }
  ~Gpt2() override { std::filesystem::remove_all(folder_); }

  /// Every element of a tensor is its flat index in the file.
  std::string write(const std::string& prefix) const {
    std::vector<SafetensorsEntry> entries = entries_;
    for (auto& entry : entries)
      if (entry.name != "lm_head.weight") entry.name = prefix + entry.name;
    SafetensorsWriter writer(folder_ + "/model", entries);
    for (const auto& entry : entries) {
      std::vector<float> values(static_cast<std::size_t>(elements_of(entry.shape)));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
      writer.write(entry.name, values.data(), static_cast<std::int64_t>(values.size()));
    }
    writer.finish();
    return folder_ + "/model";
  }

  std::string folder_;
  std::vector<SafetensorsEntry> entries_;
};

TEST_F(Gpt2, NamesShapesAndLayoutsAreHuggingFaces) {
  ASSERT_EQ(table.size(), names.size());
  const auto list = parameters();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Gpt2Name found = gpt2_name(list[i]);
    EXPECT_EQ(found.name, names[i].name);
    EXPECT_EQ(found.shape, names[i].shape) << found.name;
    EXPECT_EQ(found.transposed, names[i].transposed) << found.name;
  }
  EXPECT_EQ(gpt2_name({"layers.12.mlp.up.bias", {24}, {}, 12, false, {}}).name, "h.12.mlp.c_fc.bias");
  EXPECT_THROW(gpt2_name({"layers.0.mlp.gate.weight", {24, 6}, {}, 0, false, {}}), base::Error);
}

TEST_F(Gpt2, ReadsPartsOfTransposedMatrices) {
  for (const std::string prefix : {"", "transformer."}) {
    const Gpt2Weights weights(write(prefix), parameters());
    std::vector<float> qkv(3 * 2 * 2 * 6), expected;
    weights.read(parameter("layers.0.attention.qkv.weight"), slice({0, 1, 0, 0}, {3, 2, 2, 6}), qkv.data());
    for (int third = 0; third < 3; ++third)
      for (int head = 1; head < 3; ++head)
        for (int row = 0; row < 2; ++row)
          for (int in = 0; in < 6; ++in) expected.push_back(static_cast<float>(in * 18 + third * 6 + head * 2 + row));
    EXPECT_EQ(qkv, expected);

    std::vector<float> bias(6);
    weights.read(parameter("layers.0.attention.qkv.bias"), slice({0, 2, 0}, {3, 1, 2}), bias.data());
    EXPECT_EQ(bias, (std::vector<float>{4, 5, 10, 11, 16, 17}));

    std::vector<float> down(6 * 2);  // split along its inputs, the file's rows
    weights.read(parameter("layers.0.mlp.down.weight"), slice({0, 22}, {6, 2}), down.data());
    EXPECT_EQ(down, (std::vector<float>{132, 138, 133, 139, 134, 140, 135, 141, 136, 142, 137, 143}));

    std::vector<float> rows(6);
    weights.read(parameter("embedding.tokens.weight"), slice({6, 0}, {1, 6}), rows.data());
    EXPECT_EQ(rows, (std::vector<float>{36, 37, 38, 39, 40, 41}));
    weights.read(parameter("embedding.tokens.weight"), slice({7, 0}, {0, 6}), rows.data());  // a rank of padding only
    EXPECT_EQ(rows[0], 36);
  }
}

TEST_F(Gpt2, WholeParametersGoBackToTheOrderOfTheFile) {
  const std::string original = write("");
  const std::string copy = original + ".copy";
  const Gpt2Weights weights(original, parameters());
  const auto writer = create_gpt2(copy, parameters());
  for (const auto& one : parameters()) {
    std::vector<float> values(static_cast<std::size_t>(elements_of(one.shape)));
    weights.read(one, slice(Shape(one.shape.size(), 0), one.shape), values.data());
    write_gpt2(*writer, one, values);
  }
  writer->finish();
  const SafetensorsReader before(original), after(copy);
  ASSERT_EQ(after.tensors().size(), before.tensors().size());
  for (const SafetensorsTensor& tensor : before.tensors()) {
    std::vector<float> a(static_cast<std::size_t>(elements_of(tensor.shape))), b(a.size());
    before.read_hyperslab(tensor.name, Shape(tensor.shape.size(), 0), tensor.shape, a.data());
    after.read_hyperslab(tensor.name, Shape(tensor.shape.size(), 0), tensor.shape, b.data());
    EXPECT_EQ(a, b) << tensor.name;
  }
}

TEST_F(Gpt2, PassesOverBuffersAndTheTiedHead) {
  entries_.push_back({"h.0.attn.bias", {1, 1, 5, 5}});
  entries_.push_back({"h.0.attn.masked_bias", {}});
  entries_.push_back({"lm_head.weight", {7, 6}});
  for (const std::string prefix : {"", "transformer."}) EXPECT_NO_THROW(Gpt2Weights(write(prefix), parameters()));
}

TEST_F(Gpt2, RefusesAnOutputLayerOfItsOwn) {
  const std::string path = write("");
  SafetensorsWriter writer(path + ".untied", {{"wte.weight", {7, 6}}, {"lm_head.weight", {7, 6}}});
  std::vector<float> values(42, 1.0f);
  writer.write("wte.weight", values.data(), 42);
  values[41] = 2;
  writer.write("lm_head.weight", values.data(), 42);
  writer.finish();
  const std::vector<spec::Parameter> only = {parameters().front()};
  EXPECT_THROW(Gpt2Weights(path + ".untied", only), base::Error);
}

TEST_F(Gpt2, HoldsTheNumberOfHeadsAgainstMetadataOrConfig) {
  const std::string path = write("");  // of 3 heads; nobody says so
  EXPECT_NO_THROW(Gpt2Weights(path, parameters()));
  const std::string config = folder_ + "/config.json";
  std::ofstream(config) << R"({"n_head": 3})";
  EXPECT_NO_THROW(Gpt2Weights(path, parameters()));
  std::ofstream(config) << R"({"n_head": 2})";
  EXPECT_THROW(Gpt2Weights(path, parameters()), base::Error);
  const std::string noted = folder_ + "/noted";
  const auto writer = create_gpt2(noted, parameters());
  for (const auto& one : parameters()) write_gpt2(*writer, one, std::vector<float>(elements_of(one.shape)));
  writer->finish();
  EXPECT_EQ(SafetensorsReader(noted).metadata().at("heads"), "3");
  EXPECT_THROW(Gpt2Weights(noted, parameters()), base::Error) << "config.json says 2";
  std::ofstream(config) << R"({"n_head": 3})";
  EXPECT_NO_THROW(Gpt2Weights(noted, parameters()));
}

/// Oracle: the sizes that were written; the file has 16 tensors.
TEST_F(Gpt2, AMisfitOfAllTensorsIsToldByTheSizesFirstAndShortly) {
  for (auto& entry : entries_)
    for (std::int64_t& extent : entry.shape) extent *= 2;
  const std::string path = write("");
  try {
    Gpt2Weights(path, parameters());
    ADD_FAILURE() << "no error";
  } catch (const base::Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(
        text.rfind(path + " does not fit the model. Its own sizes are model.layers = 1, model.hidden = 12, model.sequence = 10, "
                          "model.vocabulary = 14\n",
                   0),
        0u)
        << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6) << text;
    EXPECT_NE(text.find("\n  and 11 more"), std::string::npos) << text;
  }
}

TEST_F(Gpt2, ListsAFewMisfitsAtOnce) {
  std::erase_if(entries_, [](const auto& entry) { return entry.name == "h.0.ln_2.bias"; });
  entries_[0].shape = {8, 6};
  entries_.push_back({"h.1.ln_1.weight", {6}});
  entries_.push_back({"lm_head.weight", {9, 6}});
  const std::string path = write("transformer.");
  try {
    Gpt2Weights(path, parameters());
    ADD_FAILURE() << "no error";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), base::Exit::bad_input);
    EXPECT_EQ(std::string(error.what()),
              path +
                  " does not fit the model. Its own sizes are model.layers = 2, model.hidden = 6, model.sequence = 5, "
                  "model.vocabulary = 8\n"
                  "  transformer.wte.weight: expected [7, 6] of F32, F16, BF16 or F64, found [8, 6] of F32\n"
                  "  lm_head.weight: expected [7, 6] of F32, F16, BF16 or F64, found [9, 6] of F32\n"
                  "  transformer.h.0.ln_2.bias: expected [6], found none\n"
                  "  transformer.h.1.ln_1.weight: expected none, found [6]");
  }
}

}  // namespace
}  // namespace trireme::store
