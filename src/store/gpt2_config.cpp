#include "store/gpt2_config.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/text.h"
#include "store/gpt2_folder.h"

namespace trireme::store {
namespace {

using nlohmann::json;

/// A key that decides what is computed, the values with which that is what this program computes, and that in words.
struct Rule {
  const char* key;
  std::vector<json> same;
  const char* here;
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> table = {
      {"model_type", {"gpt2"}, "the model \"gpt2\""},
      {"activation_function", {"gelu_new", "gelu_pytorch_tanh", "gelu_fast"}, "GELU by tanh, which is called \"gelu_new\""},
      {"layer_norm_epsilon", {1e-5}, "layer norm with 1e-05"},
      {"scale_attn_weights", {true}, "attention scaled by the root of a head's width"},
      {"scale_attn_by_inverse_layer_idx", {false}, "attention scaled alike in all layers"},
      {"add_cross_attention", {false}, "no cross-attention"},
      {"tie_word_embeddings", {true}, "an output layer that is wte.weight"},
      {"pruned_heads", {json::object(), nullptr}, "all heads of all layers"},
      {"quantization_config", {nullptr}, "weights as they are in the file"},
      {"auto_map", {nullptr}, "Hugging Face's GPT-2, not a model with code of its own"}};
  return table;
}

/// A size of the model, and GPT-2's names for it.
struct Size {
  std::int64_t config::Model::*member;
  std::vector<const char*> keys;
};

const std::vector<Size>& sizes() {
  using config::Model;
  static const std::vector<Size> table = {{&Model::layers, {"n_layer", "num_hidden_layers"}},
                                          {&Model::hidden, {"n_embd", "hidden_size"}},
                                          {&Model::heads, {"n_head", "num_attention_heads"}},
                                          {&Model::sequence, {"n_positions", "n_ctx", "max_position_embeddings"}},
                                          {&Model::vocabulary, {"vocab_size"}}};
  return table;
}

std::string shown(const json& value) { return base::clipped(value.dump()); }

/// The size that its keys tell; adds what is wrong with them.
std::int64_t size_of(const json& config, const Size& size, std::vector<std::string>& problems) {
  std::int64_t told = 0;
  const char* by = nullptr;
  for (const char* key : size.keys) {
    const auto found = config.find(key);
    if (found == config.end() || found->is_null()) continue;
    const bool whole = found->is_number_unsigned() && *found > 0 && *found <= INT32_MAX;
    if (!whole)
      problems.push_back(fmt::format("{} = {}: not a size", key, shown(*found)));
    else if (by && told != found->get<std::int64_t>())
      problems.push_back(
          fmt::format("{} = {}: {} is {}, and this program computes with one number for both", key, shown(*found), by, told));
    else
      told = found->get<std::int64_t>(), by = key;
  }
  return told;
}

/// Whether `from_pretrained` finds this file in its folder.
bool is_paired(const std::string& weights) { return std::filesystem::path(weights).filename() == gpt2_file_name; }

/// How the config.json at `path` differs from `model`; empty: it describes it.
std::string difference(const std::string& path, const config::Model& model) {
  try {
    const config::Model told = read_gpt2_config(path);
    for (const Size& size : sizes())
      if (told.*size.member != model.*size.member)
        return fmt::format("it has {} = {}, this model {}", size.keys[0], told.*size.member, model.*size.member);
    return "";
  } catch (const base::Error& error) {
    return error.what();
  }
}

}  // namespace

std::string gpt2_config_path(const std::string& weights) {
  return (std::filesystem::path(weights).parent_path() / "config.json").string();
}

config::Model read_gpt2_config(const std::string& path) {
  const json config = base::json_object<json>(base::read_file(path), path);
  std::vector<std::string> problems;
  config::Model model;
  for (const Size& size : sizes()) model.*size.member = size_of(config, size, problems);
  for (const Rule& rule : rules()) {
    const auto found = config.find(rule.key);
    if (found != config.end() && std::find(rule.same.begin(), rule.same.end(), *found) == rule.same.end())
      problems.push_back(fmt::format("{} = {}: this program computes {}", rule.key, shown(*found), rule.here));
  }
  const auto inner = config.find("n_inner");
  if (inner != config.end() && !inner->is_null() && (model.hidden == 0 || *inner != 4 * model.hidden))
    problems.push_back(fmt::format("n_inner = {}: this program computes 4 times n_embd", shown(*inner)));
  if (!problems.empty())
    base::refuse(
        "{}: the weights beside it are for a model that this program does not compute:\n  {}\nUse weights of a model that it "
        "computes. If the file belongs to other weights, move one of the two into another folder",
        path, fmt::join(problems, "\n  "));
  return model;
}

std::string gpt2_config_text(const config::Model& model, Dtype dtype) {
  constexpr const char* names[] = {"float32", "bfloat16", "float16"};
  const nlohmann::ordered_json config = {{"architectures", {"GPT2LMHeadModel"}},
                                         {"model_type", "gpt2"},
                                         {"activation_function", "gelu_new"},
                                         {"layer_norm_epsilon", 1e-5},
                                         {"n_layer", model.layers},
                                         {"n_embd", model.hidden},
                                         {"n_head", model.heads},
                                         {"n_positions", model.sequence},
                                         {"n_ctx", model.sequence},
                                         {"n_inner", nullptr},
                                         {"vocab_size", model.vocabulary},
                                         {"embd_pdrop", model.dropout},
                                         {"attn_pdrop", model.dropout},
                                         {"resid_pdrop", model.dropout},
                                         {"scale_attn_weights", true},
                                         {"scale_attn_by_inverse_layer_idx", false},
                                         {"reorder_and_upcast_attn", false},
                                         {"add_cross_attention", false},
                                         {"tie_word_embeddings", true},
                                         {"bos_token_id", nullptr},  // this program does not know what the tokens mean
                                         {"eos_token_id", nullptr},
                                         {"torch_dtype", names[static_cast<int>(dtype)]}};
  return config.dump(2) + "\n";
}

void check_gpt2_pair(const std::string& weights, const config::Model& model) {
  const std::string path = gpt2_config_path(weights);
  if (!is_paired(weights) || !std::filesystem::exists(path)) return;
  const std::string obstacle = difference(path, model);
  if (!obstacle.empty())
    base::refuse(
        "{}: this file is there already and describes another model than the one to be written beside it: {}\nIt is not "
        "replaced. Choose another folder, or move it away",
        path, obstacle);
}

void complete_gpt2_pair(const std::string& weights, const config::Model& model, Dtype dtype) {
  const std::string path = gpt2_config_path(weights);
  if (is_paired(weights) && !std::filesystem::exists(path)) base::write_file_atomically(path, gpt2_config_text(model, dtype));
}

}  // namespace trireme::store
