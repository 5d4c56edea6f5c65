#include "spec/parameters.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace trireme::spec {
namespace {

constexpr double sigma = 0.02;  // GPT-2's N(0, 0.02)

std::int64_t product(const std::vector<std::int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

/// Adds one layer's parameters in table order. Column-parallel matrices are split along their outputs, row-parallel ones along
/// their inputs (section 2.3); what follows a row-parallel product is held by every tensor rank.
void add_layer(std::vector<Parameter>& table, const config::Model& model, int layer) {
  const std::int64_t h = model.hidden, a = model.heads;
  const double residual = sigma / std::sqrt(2.0 * static_cast<double>(model.layers));
  const auto add = [&](const char* name, std::vector<std::int64_t> shape, std::optional<int> split, Initial initial) {
    const bool matrix = initial.sigma > 0;
    table.push_back({fmt::format("layers.{}.{}", layer, name), std::move(shape), split, layer, matrix, initial});
  };
  add("norm1.weight", {h}, {}, {1, 0});
  add("norm1.bias", {h}, {}, {0, 0});
  add("attention.qkv.weight", {3, a, h / a, h}, 1, {0, sigma});
  add("attention.qkv.bias", {3, a, h / a}, 1, {0, 0});
  add("attention.output.weight", {h, h}, 1, {0, residual});
  add("attention.output.bias", {h}, {}, {0, 0});
  add("norm2.weight", {h}, {}, {1, 0});
  add("norm2.bias", {h}, {}, {0, 0});
  add("mlp.up.weight", {4 * h, h}, 0, {0, sigma});
  add("mlp.up.bias", {4 * h}, 0, {0, 0});
  add("mlp.down.weight", {h, 4 * h}, 1, {0, residual});
  add("mlp.down.bias", {h}, {}, {0, 0});
}

}  // namespace

std::int64_t Parameter::elements() const { return product(shape); }
std::int64_t Slice::elements() const { return product(count); }

std::vector<Parameter> model_parameters(const config::Model& model) {
  std::vector<Parameter> table;
  const int last = static_cast<int>(model.layers);
  table.push_back({token_embedding, {model.vocabulary, model.hidden}, 0, -1, true, {0, sigma}});
  table.push_back({position_embedding, {model.sequence, model.hidden}, {}, -1, true, {0, sigma}});
  for (int layer = 0; layer < last; ++layer) add_layer(table, model, layer);
  table.push_back({"final_norm.weight", {model.hidden}, {}, last, false, {1, 0}});
  table.push_back({"final_norm.bias", {model.hidden}, {}, last, false, {0, 0}});
  return table;
}

ParameterTable::ParameterTable(std::vector<Parameter> parameters) {
  auto shared = std::make_shared<Shared>(Shared{std::move(parameters), {}});
  for (std::size_t k = 0; k < shared->parameters.size(); ++k)
    shared->rows.emplace(shared->parameters[k].name, static_cast<int>(k));
  shared_ = std::move(shared);
}

std::optional<int> ParameterTable::find(std::string_view name) const {
  const auto found = shared_->rows.find(name);
  return found == shared_->rows.end() ? std::nullopt : std::optional(found->second);
}

std::int64_t parameter_count(const config::Model& model) {
  std::int64_t total = 0;
  for (const Parameter& p : model_parameters(model)) total += p.elements();
  return total;
}

std::int64_t padded_vocabulary(std::int64_t vocabulary, std::int64_t tensor) {
  const std::int64_t multiple = 128 * tensor;
  return (vocabulary + multiple - 1) / multiple * multiple;
}

Slice slice_of(const Parameter& parameter, int tensor, int rank) {
  Slice slice{std::vector<std::int64_t>(parameter.shape.size(), 0), parameter.shape, 0};
  if (!parameter.split_axis) return slice;
  const auto axis = static_cast<std::size_t>(*parameter.split_axis);
  const std::int64_t size = parameter.shape[axis];
  if (parameter.name == token_embedding) {
    const std::int64_t rows = padded_vocabulary(size, tensor) / tensor;
    slice.start[axis] = std::min(rank * rows, size);
    slice.count[axis] = std::clamp<std::int64_t>(size - rank * rows, 0, rows);
    slice.padding = (rows - slice.count[axis]) * parameter.shape[1];
  } else {
    slice.start[axis] = rank * (size / tensor);
    slice.count[axis] = size / tensor;
  }
  return slice;
}

std::vector<std::int64_t> global_offsets(const Parameter& parameter, const Slice& slice) {
  std::vector<std::int64_t> offsets;
  offsets.reserve(static_cast<std::size_t>(slice.elements() / std::max<std::int64_t>(slice.count.back(), 1)));
  const std::size_t rank = slice.count.size();
  std::vector<std::int64_t> index(rank, 0);
  if (slice.elements() == 0) return offsets;
  for (;;) {
    std::int64_t offset = 0;
    for (std::size_t k = 0; k < rank; ++k) offset = offset * parameter.shape[k] + slice.start[k] + index[k];
    offsets.push_back(offset);
    std::size_t k = rank - 1;  // the last axis is contiguous: advance the ones before it
    while (k > 0 && ++index[k - 1] == slice.count[k - 1]) index[--k] = 0;
    if (k == 0) return offsets;
  }
}

}  // namespace trireme::spec
