#include "store/gpt2_names.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"

namespace trireme::store {
namespace {

struct Form {
  const char* name;
  bool transposed;
};

const std::map<std::string, Form> outside_layers = {{"embedding.tokens.weight", {"wte.weight", false}},
                                                    {"embedding.positions.weight", {"wpe.weight", false}},
                                                    {"final_norm.weight", {"ln_f.weight", false}},
                                                    {"final_norm.bias", {"ln_f.bias", false}}};

const std::map<std::string, Form> inside_layer = {{"norm1.weight", {"ln_1.weight", false}},
                                                  {"norm1.bias", {"ln_1.bias", false}},
                                                  {"attention.qkv.weight", {"attn.c_attn.weight", true}},
                                                  {"attention.qkv.bias", {"attn.c_attn.bias", false}},
                                                  {"attention.output.weight", {"attn.c_proj.weight", true}},
                                                  {"attention.output.bias", {"attn.c_proj.bias", false}},
                                                  {"norm2.weight", {"ln_2.weight", false}},
                                                  {"norm2.bias", {"ln_2.bias", false}},
                                                  {"mlp.up.weight", {"mlp.c_fc.weight", true}},
                                                  {"mlp.up.bias", {"mlp.c_fc.bias", false}},
                                                  {"mlp.down.weight", {"mlp.c_proj.weight", true}},
                                                  {"mlp.down.bias", {"mlp.c_proj.bias", false}}};

constexpr const char* prefix = "transformer.";

/// For each axis of the table, how far apart neighbours lie in the file.
Shape file_strides(const Shape& shape, bool transposed) {
  const std::size_t last = shape.size() - 1;
  Shape stride(shape.size(), 1);
  for (std::size_t i = transposed ? last : shape.size(); i-- > 1;) stride[i - 1] = stride[i] * shape[i];
  if (transposed) stride[last] = elements_of(shape) / shape[last];
  return stride;
}

/// a, from the shape [3, a, h/a, h].
std::string heads_of(const std::vector<spec::Parameter>& parameters) {
  const auto qkv = std::find_if(parameters.begin(), parameters.end(),
                                [](const spec::Parameter& p) { return p.name.ends_with("attention.qkv.weight"); });
  return qkv == parameters.end() ? "" : std::to_string(qkv->shape[1]);
}

/// "h.3.attn.bias" and the like: constants that older files carry.
bool is_buffer(const std::string& name) {
  return name.starts_with("h.") && (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"));
}

}  // namespace

Gpt2Name gpt2_name(const spec::Parameter& parameter) {
  const std::string& name = parameter.name;
  const bool in_layer = name.starts_with("layers.");
  const std::size_t number = std::string("layers.").size(), dot = in_layer ? name.find('.', number) : 0;
  const auto& forms = in_layer ? inside_layer : outside_layers;
  const auto form = forms.find(in_layer && dot != std::string::npos ? name.substr(dot + 1) : name);
  if (form == forms.end()) base::fail("GPT-2 has no parameter {}", name);
  const Shape& shape = parameter.shape;
  const std::int64_t elements = elements_of(shape), columns = shape.back();
  const bool matrix = shape.size() > 1 && name.ends_with(".weight");
  Shape file_shape{elements};
  if (matrix) file_shape = form->second.transposed ? Shape{columns, elements / columns} : Shape{elements / columns, columns};
  return {(in_layer ? "h." + name.substr(number, dot + 1 - number) : "") + form->second.name, file_shape,
          form->second.transposed};
}

Gpt2Weights::Gpt2Weights(const std::string& path, const std::vector<spec::Parameter>& parameters) : file_(path) {
  const auto& tensors = file_.tensors();
  const auto prefixed = [](const SafetensorsTensor& tensor) { return tensor.name.starts_with(prefix); };
  if (std::any_of(tensors.begin(), tensors.end(), prefixed)) prefix_ = prefix;
  std::vector<std::string> problems;
  std::set<std::string> known;
  const auto expect = [&](const std::string& name, const Shape& shape, bool required) {
    known.insert(name);
    const SafetensorsTensor* tensor = file_.find(name);
    if (!tensor && required) problems.push_back(fmt::format("{}: expected {}, found none", name, to_string(shape)));
    if (tensor && (tensor->shape != shape || !SafetensorsReader::readable(*tensor)))
      problems.push_back(fmt::format("{}: expected {} of F32, F16, BF16 or F64, found {} of {}", name, to_string(shape),
                                     to_string(tensor->shape), tensor->dtype));
  };
  for (const spec::Parameter& parameter : parameters) {
    const Gpt2Name form = gpt2_name(parameter);
    expect(prefix_ + form.name, form.shape, true);
    if (form.name == "wte.weight") expect("lm_head.weight", form.shape, false);
  }
  for (const SafetensorsTensor& tensor : tensors) {
    const bool buffer = tensor.name.starts_with(prefix_) && is_buffer(tensor.name.substr(prefix_.size()));
    if (!known.contains(tensor.name) && !buffer)
      problems.push_back(fmt::format("{}: expected none, found {}", tensor.name, to_string(tensor.shape)));
  }
  const std::string expected_heads = heads_of(parameters), found_heads = heads();
  if (!found_heads.empty() && found_heads != expected_heads)
    problems.push_back(fmt::format("model.heads: expected {}, found {}", expected_heads, found_heads));
  if (problems.empty() && file_.find("lm_head.weight") && !is_tied())
    problems.push_back("lm_head.weight: expected the values of wte.weight (a tied output layer), found others");
  if (!problems.empty()) base::refuse("{} does not fit the model:\n  {}{}", path, fmt::join(problems, "\n  "), sizes());
}

std::string Gpt2Weights::sizes() const {
  const SafetensorsTensor *tokens = file_.find(prefix_ + "wte.weight"), *positions = file_.find(prefix_ + "wpe.weight");
  if (!tokens || !positions || tokens->shape.size() != 2 || positions->shape.size() != 2) return {};
  int layers = 0;
  while (file_.find(fmt::format("{}h.{}.ln_1.weight", prefix_, layers))) ++layers;
  return fmt::format("\nits own model.layers = {}, model.hidden = {}, model.sequence = {}, model.vocabulary = {}", layers,
                     tokens->shape[1], positions->shape[0], tokens->shape[0]);
}

std::string Gpt2Weights::heads() const {
  const auto noted = file_.metadata().find("heads");
  if (noted != file_.metadata().end()) return noted->second;
  std::ifstream beside(std::filesystem::path(file_.path()).parent_path() / "config.json");
  const auto config = nlohmann::json::parse(beside, nullptr, false);
  const auto found = config.is_object() ? config.find("n_head") : config.end();
  return found != config.end() && found->is_number_integer() ? std::to_string(found->get<std::int64_t>()) : "";
}

bool Gpt2Weights::is_tied() const {
  const std::string embedding = prefix_ + "wte.weight";
  const Shape shape = file_.find(embedding)->shape, row{1, shape[1]};
  std::vector<float> a(shape[1]), b(shape[1]);
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    file_.read_hyperslab(embedding, {i, 0}, row, a.data());
    file_.read_hyperslab("lm_head.weight", {i, 0}, row, b.data());
    if (a != b) return false;
  }
  return true;
}

void Gpt2Weights::read(const spec::Parameter& parameter, const spec::Slice& slice, float* out) const {
  const Gpt2Name form = gpt2_name(parameter);
  const Shape stride = file_strides(parameter.shape, form.transposed);
  std::int64_t first = 0;
  for (std::size_t i = 0; i < stride.size(); ++i) first += slice.start[i] * stride[i];
  file_.read_strided(prefix_ + form.name, first, slice.count, stride, out);
}

std::unique_ptr<SafetensorsWriter> create_gpt2(const std::string& path, const std::vector<spec::Parameter>& parameters) {
  std::vector<SafetensorsEntry> entries;
  for (const spec::Parameter& parameter : parameters) {
    const Gpt2Name form = gpt2_name(parameter);
    entries.push_back({form.name, form.shape});
  }
  return std::make_unique<SafetensorsWriter>(path, entries, std::map<std::string, std::string>{{"heads", heads_of(parameters)}});
}

void write_gpt2(SafetensorsWriter& writer, const spec::Parameter& parameter, const std::vector<float>& values) {
  const Gpt2Name form = gpt2_name(parameter);
  if (!form.transposed) return writer.write(form.name, values.data(), std::ssize(values));
  const std::int64_t in = form.shape[0], out = form.shape[1];
  std::vector<float> row(out);
  for (std::int64_t i = 0; i < in; ++i) {
    for (std::int64_t o = 0; o < out; ++o) row[o] = values[o * in + i];
    writer.write(form.name, row.data(), out);
  }
}

}  // namespace trireme::store
