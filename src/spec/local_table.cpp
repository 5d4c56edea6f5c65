#include "spec/local_table.h"

#include <algorithm>

#include "base/alignment.h"
#include "spec/state.h"

namespace trireme::spec {
namespace {

/// Elements from a row of the flat buffers to the next.
constexpr std::int64_t stride(std::int64_t elements) { return base::aligned_count(type_of(State::weight), elements); }

/// Row of the model's table where the parameters of `layer` begin: they stand in the order of their layers.
int first_of(const ParameterTable& parameters, int layer) {
  const auto found =
      std::partition_point(parameters.begin(), parameters.end(), [&](const Parameter& p) { return p.layer < layer; });
  return static_cast<int>(found - parameters.begin());
}

/// Appends the rows with decay, or those without, to the flat buffer.
void place(LocalTable& table, bool decay) {
  for (LocalParameter& row : table.rows) {
    if (table.parameter(row).decay != decay) continue;
    row.offset = table.elements;
    table.elements += stride(row.elements);
  }
}

/// Calls work(row, data rank that stores it) for each row that is stored, in their order: ranks never go down.
template <class Work>
void for_each_stored(const LocalTable& table, int data, const Work& work) {
  const auto stored = [](const LocalParameter& row) { return row.counted && row.slice.elements() > 0; };
  std::int64_t all = 0, before = 0;
  for (const LocalParameter& row : table.rows) all += stored(row) ? row.slice.elements() : 0;
  for (const LocalParameter& row : table.rows) {
    if (!stored(row)) continue;
    work(row, (before + row.slice.elements() / 2) * data / all);  // where its middle falls
    before += row.slice.elements();
  }
}

}  // namespace

const LocalParameter* LocalTable::find(const std::string& name, bool tied_copy) const {
  const std::optional<int> index = parameters.find(name);
  if (!index || rows.empty()) return nullptr;
  const bool copies = rows.back().tied_copy;  // there is one at most, and it stands last
  const auto end = rows.end() - copies;
  const auto found =
      tied_copy ? end : std::partition_point(rows.begin(), end, [&](const LocalParameter& row) { return row.index < *index; });
  return found != (tied_copy ? rows.end() : end) && found->index == *index ? &*found : nullptr;
}

LocalTable make_local_table(const config::Model& model, const StageMap& map, int stage, int tensor, int rank) {
  LocalTable table{map.parameters, {}};
  const auto add = [&](int index, int chunk, bool tied_copy) {
    const Parameter& parameter = table.parameters[static_cast<std::size_t>(index)];
    Slice slice = slice_of(parameter, tensor, rank);
    const std::int64_t elements = slice.elements() + slice.padding;
    const bool counted = !tied_copy && (parameter.split_axis || rank == 0);
    table.rows.push_back({index, chunk, tied_copy, counted, std::move(slice), 0, elements});
  };
  const auto& chunks = map.of_stage[stage];
  for (int c = 0; c < static_cast<int>(chunks.size()); ++c) {
    const Chunk& chunk = chunks[c];
    const int layers = static_cast<int>(model.layers);
    const auto add_layers = [&](int from, int to) {
      for (int k = first_of(table.parameters, from); k < first_of(table.parameters, to); ++k) add(k, c, false);
    };
    if (chunk.embedding) add_layers(-1, 0);
    add_layers(chunk.first_layer, chunk.first_layer + chunk.layers);
    if (chunk.head) add_layers(layers, layers + 1);
    if (chunk.head && map.stages > 1) add(0, c, true);
  }
  place(table, true);
  table.decayed = table.elements;
  place(table, false);
  return table;
}

std::vector<const LocalParameter*> stored_rows(const LocalTable& table, int data, int rank) {
  std::vector<const LocalParameter*> rows;
  for_each_stored(table, data, [&](const LocalParameter& row, std::int64_t owner) {
    if (owner == rank) rows.push_back(&row);
  });
  return rows;
}

std::int64_t stored_elements(const std::vector<const LocalParameter*>& rows) {
  std::int64_t sum = 0;
  for (const LocalParameter* row : rows) sum += stride(row->slice.elements());
  return sum;
}

std::int64_t most_stored_elements(const LocalTable& table, int data) {
  std::int64_t most = 0, sum = 0, last = 0;
  for_each_stored(table, data, [&](const LocalParameter& row, std::int64_t owner) {
    if (owner != last) sum = 0;  // a rank's rows follow each other
    last = owner;
    sum += stride(row.slice.elements());
    most = std::max(most, sum);
  });
  return most;
}

std::vector<Bucket> gradient_buckets(const LocalTable& table) {
  std::vector<Bucket> buckets;
  for (const LocalParameter& row : table.rows) {
    const Parameter& parameter = table.parameter(row);
    if (parameter.name == token_embedding || !parameter.decay) continue;
    if (buckets.empty() || buckets.back().layer != parameter.layer) buckets.push_back({parameter.layer, row.offset, 0});
    buckets.back().elements = row.offset + row.elements - buckets.back().offset;  // rows of a layer are neighbours
  }
  std::int64_t end = table.decayed;
  for (const LocalParameter& row : table.rows) end = std::max(end, row.offset + row.elements);
  if (end > table.decayed) buckets.push_back({Bucket::all_layers, table.decayed, end - table.decayed});
  return buckets;
}

std::int64_t tied_elements(const LocalTable& table) {
  const LocalParameter* row = table.find(token_embedding);
  if (!row) row = table.find(token_embedding, true);
  return row ? row->elements : 0;
}

}  // namespace trireme::spec
