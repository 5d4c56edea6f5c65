// config.json beside weights, and folders of weights. Oracles: Hugging Face's GPT2Config, its keys, defaults and meaning written
// out here; the values that went into the files; exact.
#include "store/gpt2_config.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "store/gpt2_folder.h"
#include "validation/unit/support/expect_error.h"
#include "validation/unit/support/process.h"
#include "validation/unit/support/small_gpt2.h"

namespace trireme::test {
namespace {

using base::Exit;
using nlohmann::json;

/// As `save_pretrained` writes it for the small model, with what decides nothing.
json saved_config() {
  return json::parse(R"({
    "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1, "bos_token_id": 50256,
    "embd_pdrop": 0.1, "eos_token_id": 50256, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gpt2",
    "n_ctx": 6, "n_embd": 8, "n_head": 4, "n_inner": null, "n_layer": 2, "n_positions": 6,
    "reorder_and_upcast_attn": true, "resid_pdrop": 0.1, "scale_attn_by_inverse_layer_idx": false, "scale_attn_weights": true,
    "summary_activation": null, "summary_type": "cls_index", "task_specific_params": {"text-generation": {"max_length": 50}},
    "torch_dtype": "float32", "transformers_version": "4.51.0", "use_cache": true, "vocab_size": 301})");
}

class Gpt2Config : public testing::Test {
 protected:
  const std::vector<spec::Parameter> parameters_ = spec::model_parameters(small_model(2));
  Folder folder_;
  const std::string model_ = folder_ / "model.safetensors", config_ = folder_ / "config.json";

  void put(const json& config) { write_text(config_, config.dump()); }
  std::vector<float> read(const store::Gpt2Weights& weights, std::size_t i) const {
    std::vector<float> values(static_cast<std::size_t>(parameters_[i].elements()));
    weights.read(parameters_[i], slice_of(parameters_[i], 1, 0), values.data());
    return values;
  }
};

TEST_F(Gpt2Config, EveryKeyThatChangesTheFunctionIsRefusedByName) {
  write_gpt2_file(model_);
  put(saved_config());
  EXPECT_NO_THROW(store::Gpt2Weights(model_, parameters_));
  const std::vector<std::pair<std::string, json>> changes = {
      {"activation_function", "relu"},
      {"activation_function", "gelu"},  // by the error function: not by tanh
      {"activation_function", nullptr},
      {"layer_norm_epsilon", 1e-6},
      {"layer_norm_epsilon", "1e-5"},
      {"scale_attn_weights", false},
      {"scale_attn_weights", 0},
      {"scale_attn_by_inverse_layer_idx", true},
      {"n_inner", 16},
      {"tie_word_embeddings", false},
      {"add_cross_attention", true},
      {"model_type", "gpt_neo"},
      {"model_type", 3},
      {"quantization_config", {{"bits", 4}}},
      {"auto_map", {{"A", "b.C"}}},
      {"pruned_heads", {{"0", {1}}}},
      {"n_layer", 3},
      {"n_embd", 16},
      {"n_head", 2},
      {"n_positions", 5},
      {"n_ctx", 3},
      {"vocab_size", 300},
      {"num_hidden_layers", 3},
      {"hidden_size", 16},
      {"num_attention_heads", 8},
      {"max_position_embeddings", 7},
      {"n_head", -4},
      {"n_layer", 2.5},
      {"vocab_size", "301"},
      {"n_embd", 9e18}};
  for (const auto& [key, value] : changes) {
    SCOPED_TRACE(key + " = " + value.dump());
    json config = saved_config();
    if (key == "n_positions") config.erase("n_ctx");  // GPT-2's older name for the same
    config[key] = value;
    put(config);
    const std::string shown = key == "n_head" && value == 2 ? "model.heads: expected 4, found 2" : key + " = " + value.dump();
    expect_error(Exit::bad_input, {shown}, [&] { store::Gpt2Weights(model_, parameters_); });
  }
}

TEST_F(Gpt2Config, NamesFileKeyValueAndWhatIsComputedAllAtOnce) {
  write_gpt2_file(model_);
  put({{"activation_function", "relu"}, {"scale_attn_by_inverse_layer_idx", true}});
  expect_error(Exit::bad_input,
               {config_ + ": the weights beside it are for a model that this program does not compute:",
                "activation_function = \"relu\": this program computes GELU by tanh, which is called \"gelu_new\"",
                "scale_attn_by_inverse_layer_idx = true: this program computes attention scaled alike in all layers"},
               [&] { store::gpt2_model(store::SafetensorsReader(model_)); });
}

TEST_F(Gpt2Config, WhatComputesTheSameIsTaken) {
  write_gpt2_file(model_);
  for (const auto& [key, value] : std::vector<std::pair<std::string, json>>{{"activation_function", "gelu_pytorch_tanh"},
                                                                            {"n_inner", 32},
                                                                            {"tie_word_embeddings", true},
                                                                            {"pruned_heads", json::object()},
                                                                            {"auto_map", nullptr},
                                                                            {"num_attention_heads", 4},
                                                                            {"attn_pdrop", 0.5},
                                                                            {"a_key_of_tomorrow", {1, 2}}}) {
    json config = saved_config();
    config[key] = value;
    put(config);
    EXPECT_NO_THROW(store::Gpt2Weights(model_, parameters_)) << key;
  }
  put({});
  write_text(config_, "{}");  // all of GPT-2's defaults, and no sizes
  EXPECT_NO_THROW(store::Gpt2Weights(model_, parameters_));
  EXPECT_EQ(store::gpt2_model(store::SafetensorsReader(model_)).heads, 0);
}

TEST_F(Gpt2Config, OneThatCannotBeReadIsNotPassedOver) {
  write_gpt2_file(model_);
  for (const std::string& text : {std::string("{\"n_head\": 4"), std::string("[4]"), std::string(), std::string(60000, '[')}) {
    write_text(config_, text);
    expect_error(Exit::bad_input, {config_}, [&] { store::Gpt2Weights(model_, parameters_); });
  }
}

TEST_F(Gpt2Config, TheFilesOwnWordAndTheConfigMustAgree) {
  write_gpt2_file(model_, {.metadata = {{"heads", "4"}}});
  put({{"n_head", 2}});
  expect_error(Exit::bad_input, {config_ + ": n_head = 2, but " + model_ + " beside it has 4"},
               [&] { store::Gpt2Weights(model_, parameters_); });
}

/// Libraries keep one of two tied tensors; which, is theirs to choose.
TEST_F(Gpt2Config, TheTiedEmbeddingMayBearTheHeadsName) {
  for (const std::string prefix : {"", "transformer."}) {
    write_gpt2_file(model_, {.prefix = prefix, .embedding = "lm_head.weight"});
    const store::Gpt2Weights weights(model_, parameters_);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const std::vector<float> values = read(weights, i);
      for (std::size_t k = 0; k < values.size(); ++k) ASSERT_EQ(values[k] * 0, 0) << "not finite";
      EXPECT_EQ(values.front(), small_value(parameters_[i], 0)) << parameters_[i].name;
      EXPECT_EQ(values.back(), small_value(parameters_[i], parameters_[i].elements() - 1)) << parameters_[i].name;
    }
    const config::Model model = store::gpt2_model(store::SafetensorsReader(model_));
    EXPECT_EQ(model.vocabulary, 301);
    EXPECT_EQ(model.hidden, 8);
  }
  // Without either, and with a head of another shape
  write_gpt2_file(model_, {.embedding = "other.weight"});
  expect_error(Exit::bad_input, {"wte.weight: expected [301, 8], found none", "other.weight: expected none"},
               [&] { store::Gpt2Weights(model_, parameters_); });
  write_gpt2_file(model_, {.embedding = "lm_head.weight"});
  expect_error(Exit::bad_input, {"lm_head.weight: expected [300, 8] of F32, F16, BF16 or F64, found [301, 8]"},
               [&] { store::Gpt2Weights(model_, spec::model_parameters(small_model(2, 300))); });
  put({{"tie_word_embeddings", false}});
  expect_error(Exit::bad_input, {"tie_word_embeddings = false"}, [&] { store::Gpt2Weights(model_, parameters_); });
}

TEST_F(Gpt2Config, AFolderMeansTheFileInIt) {
  const std::string one = folder_ / "one.safetensors", index = folder_ / "model.safetensors.index.json";
  EXPECT_EQ(store::find_gpt2(folder_.path()), "");
  write_text(folder_ / "pytorch_model.bin", "PK");
  expect_error(Exit::bad_input, {"holds pytorch_model.bin", "save_pretrained"}, [&] { store::find_gpt2(folder_.path()); });
  write_text(one, "x");
  EXPECT_EQ(store::find_gpt2(folder_.path()), one);
  write_text(folder_ / "two.safetensors", "x");
  expect_error(Exit::bad_input, {folder_.path(), "2 files of weights (one.safetensors, two.safetensors)"},
               [&] { store::find_gpt2(folder_.path()); });
  write_text(index, "x");
  EXPECT_EQ(store::find_gpt2(folder_.path()), index);
  write_text(model_, "x");
  EXPECT_EQ(store::find_gpt2(folder_.path()), model_);
  EXPECT_EQ(store::find_gpt2(one), one);
  EXPECT_EQ(store::find_gpt2(folder_ / "absent"), folder_ / "absent");
}

/// Where a level of brackets is a call of a function, 60,000 are the end of the stack.
TEST_F(Gpt2Config, NestedBracketsAreRefusedInEveryHeader) {
  const std::string deep = std::string(60000, '[') + std::string(60000, ']');
  const auto headed = [](const std::string& header) {
    std::string bytes(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header.size() >> 8 * i & 255);
    return bytes + header;
  };
  write_text(model_, headed(R"({"w":{"dtype":"F32","shape":[)" + deep + R"(],"data_offsets":[0,0]}})"));
  expect_error(Exit::bad_input, {model_, "nested"}, [&] { store::SafetensorsReader reader(model_); });
  const std::string index = folder_ / "model.safetensors.index.json";
  write_text(index, R"({"weight_map":{"w":)" + deep + "}}");
  expect_error(Exit::bad_input, {index, "nested"}, [&] { store::SafetensorsReader reader(index); });
  expect_error(Exit::mismatch, {"manifest.json", "nested"}, [&] { store::manifest("{\"step\":" + deep + "}", "manifest.json"); });
  expect_error(Exit::mismatch, {"a record", "nested"}, [&] { store::file_record(deep, "a record"); });
}

}  // namespace
}  // namespace trireme::test
