#include "store/gpt2_names.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "store/gpt2_config.h"

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
constexpr const char* head = "lm_head.weight";  // never prefixed

/// For each axis of the table, how far apart neighbours lie in the file.
Shape file_strides(const Shape& shape, bool transposed) {
  const std::size_t last = shape.size() - 1;
  Shape stride(shape.size(), 1);
  for (std::size_t i = transposed ? last : shape.size(); i-- > 1;) stride[i - 1] = stride[i] * shape[i];
  if (transposed) stride[last] = elements_of(shape) / shape[last];
  return stride;
}

/// a, from the shape [3, a, h/a, h]; 0 without layers.
std::int64_t heads_of(const std::vector<spec::Parameter>& parameters) {
  const auto qkv = std::find_if(parameters.begin(), parameters.end(),
                                [](const spec::Parameter& p) { return p.name.ends_with("attention.qkv.weight"); });
  return qkv == parameters.end() ? 0 : qkv->shape[1];
}

/// "h.3.attn.bias" and the like: constants that older files carry.
bool is_buffer(const std::string& name) {
  return name.starts_with("h.") && (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"));
}

std::string prefix_of(const SafetensorsReader& file) {
  const auto& tensors = file.tensors();
  const auto prefixed = [](const SafetensorsTensor& tensor) { return tensor.name.starts_with(prefix); };
  return std::any_of(tensors.begin(), tensors.end(), prefixed) ? prefix : "";
}

/// The number of heads in the file's metadata; 0: nothing.
std::int64_t heads_noted(const SafetensorsReader& file) {
  const auto noted = file.metadata().find("heads");
  if (noted == file.metadata().end()) return 0;
  const std::string& text = noted->second;
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos)
    base::refuse("{}: its metadata has heads = \"{}\"", file.path(), text);
  return std::stoll(text);
}

/// Takes what the config.json at `path` tells of the model that `file` shows, where it does not contradict the file.
void take_config(const std::string& path, const SafetensorsReader& file, config::Model& model) {
  const config::Model told = read_gpt2_config(path);
  const auto take = [&](const char* key, std::int64_t ours, std::int64_t theirs) {
    if (ours != 0 && theirs != 0 && ours != theirs)
      base::refuse("{}: {} = {}, but {} beside it has {}. If they belong to different models, move one into another folder", path,
                   key, theirs, file.path(), ours);
    return ours != 0 ? ours : theirs;
  };
  take("n_layer", model.layers, told.layers);
  take("n_embd", model.hidden, told.hidden);
  take("n_positions", model.sequence, told.sequence);
  take("vocab_size", model.vocabulary, told.vocabulary);
  model.heads = take("n_head", model.heads, told.heads);
}

/// What the file itself is, for messages; empty where it lacks what shows it.
std::string sizes_text(const config::Model& model) {
  if (model.hidden == 0 || model.sequence == 0) return {};
  return fmt::format(" Its own sizes are model.layers = {}, model.hidden = {}, model.sequence = {}, model.vocabulary = {}",
                     model.layers, model.hidden, model.sequence, model.vocabulary);
}

/// Lines; those beyond the first few are counted.
std::string few_of(std::vector<std::string> problems) {
  constexpr std::size_t most = 5;
  if (problems.size() > most + 1) {
    const std::size_t others = problems.size() - most;
    problems.resize(most);
    problems.push_back(fmt::format("and {} more", others));
  }
  return fmt::format("{}", fmt::join(problems, "\n  "));
}

}  // namespace

config::Model gpt2_model(const SafetensorsReader& file) {
  config::Model model;
  const std::string before = prefix_of(file);
  const auto extents = [&](const std::string& name, std::int64_t& rows) {
    const SafetensorsTensor* tensor = file.find(name);
    if (!tensor || tensor->shape.size() != 2) return;
    rows = tensor->shape[0];
    model.hidden = tensor->shape[1];
  };
  extents(before + "wpe.weight", model.sequence);
  extents(head, model.vocabulary);
  extents(before + "wte.weight", model.vocabulary);
  while (file.find(fmt::format("{}h.{}.ln_1.weight", before, model.layers))) ++model.layers;
  model.heads = heads_noted(file);
  if (const std::string path = gpt2_config_path(file.path()); std::filesystem::exists(path)) take_config(path, file, model);
  return model;
}

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

Gpt2Weights::Gpt2Weights(const std::string& path, const std::vector<spec::Parameter>& parameters)
    : file_(path), prefix_(prefix_of(file_)) {
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
    expect(name_in_file(form), form.shape, true);
    if (form.name == "wte.weight") expect(head, form.shape, false);
  }
  for (const SafetensorsTensor& tensor : file_.tensors()) {
    const bool buffer = tensor.name.starts_with(prefix_) && is_buffer(tensor.name.substr(prefix_.size()));
    if (!known.contains(tensor.name) && !buffer)
      problems.push_back(fmt::format("{}: expected none, found {}", base::clipped(tensor.name), to_string(tensor.shape)));
  }
  const config::Model own = gpt2_model(file_);
  if (own.heads != 0 && own.heads != heads_of(parameters))
    problems.push_back(fmt::format("model.heads: expected {}, found {}", heads_of(parameters), own.heads));
  if (problems.empty() && file_.find(head) && !is_tied())
    problems.push_back("lm_head.weight: expected the values of wte.weight (a tied output layer), found others");
  if (!problems.empty()) base::refuse("{} does not fit the model.{}\n  {}", path, sizes_text(own), few_of(std::move(problems)));
}

std::string Gpt2Weights::name_in_file(const Gpt2Name& form) const {
  const bool head_only = form.name == "wte.weight" && !file_.find(prefix_ + form.name) && file_.find(head);
  return head_only ? head : prefix_ + form.name;
}

bool Gpt2Weights::is_tied() const {
  const std::string embedding = prefix_ + "wte.weight";
  if (!file_.find(embedding)) return true;  // one tensor under the other's name
  const Shape shape = file_.find(embedding)->shape, row{1, shape[1]};
  std::vector<float> a(shape[1]), b(shape[1]);
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    file_.read_hyperslab(embedding, {i, 0}, row, a.data());
    file_.read_hyperslab(head, {i, 0}, row, b.data());
    if (a != b) return false;
  }
  return true;
}

void Gpt2Weights::read(const spec::Parameter& parameter, const spec::Slice& slice, float* out) const {
  const Gpt2Name form = gpt2_name(parameter);
  const Shape stride = file_strides(parameter.shape, form.transposed);
  std::int64_t first = 0;
  for (std::size_t i = 0; i < stride.size(); ++i) first += slice.start[i] * stride[i];
  file_.read_strided(name_in_file(form), first, slice.count, stride, out);
}

std::unique_ptr<SafetensorsWriter> create_gpt2(const std::string& path, const std::vector<spec::Parameter>& parameters,
                                               Dtype dtype) {
  std::vector<SafetensorsEntry> entries;
  for (const spec::Parameter& parameter : parameters) {
    const Gpt2Name form = gpt2_name(parameter);
    entries.push_back({form.name, form.shape});
  }
  const std::map<std::string, std::string> about = {{"heads", std::to_string(heads_of(parameters))}};
  return std::make_unique<SafetensorsWriter>(path, entries, about, dtype);
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
