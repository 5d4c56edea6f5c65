#include "spec/local_table.h"

#include <algorithm>

namespace trireme::spec {
namespace {

constexpr std::int64_t alignment = 16;  // elements: 64 bytes of fp32

bool holds(const Chunk& chunk, const Parameter& parameter, int layers) {
  if (parameter.layer < 0) return chunk.embedding;
  if (parameter.layer == layers) return chunk.head;
  return parameter.layer >= chunk.first_layer && parameter.layer < chunk.first_layer + chunk.layers;
}

}  // namespace

const LocalParameter* LocalTable::find(const std::string& name, bool tied_copy) const {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const LocalParameter& row) {
    return row.tied_copy == tied_copy && parameter(row).name == name;
  });
  return found == rows.end() ? nullptr : &*found;
}

LocalTable make_local_table(const config::Model& model, const StageMap& map, int stage, int tensor, int rank) {
  LocalTable table{model_parameters(model), {}, 0};
  const auto add = [&](int index, int chunk, bool tied_copy) {
    const Parameter& parameter = table.parameters[index];
    Slice slice = slice_of(parameter, tensor, rank);
    const std::int64_t elements = slice.elements() + slice.padding;
    const bool counted = !tied_copy && (parameter.split_axis || rank == 0);
    table.rows.push_back({index, chunk, tied_copy, counted, std::move(slice), table.elements, elements});
    table.elements += (elements + alignment - 1) / alignment * alignment;
  };
  const auto& chunks = map.of_stage[stage];
  for (int c = 0; c < static_cast<int>(chunks.size()); ++c) {
    const Chunk& chunk = chunks[c];
    for (int k = 0; k < static_cast<int>(table.parameters.size()); ++k)
      if (holds(chunk, table.parameters[k], static_cast<int>(model.layers))) add(k, c, false);
    if (chunk.head && map.stages > 1) add(0, c, true);
  }
  return table;
}

}  // namespace trireme::spec
