#include "spec/local_table.h"

#include <algorithm>

#include "base/alignment.h"
#include "spec/state.h"

namespace trireme::spec {
namespace {

/// Elements from a row of the flat buffers to the next.
constexpr std::int64_t stride(std::int64_t elements) { return base::aligned_count(type_of(State::weight), elements); }

bool holds(const Chunk& chunk, const Parameter& parameter, int layers) {
  if (parameter.layer < 0) return chunk.embedding;
  if (parameter.layer == layers) return chunk.head;
  return parameter.layer >= chunk.first_layer && parameter.layer < chunk.first_layer + chunk.layers;
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
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const LocalParameter& row) {
    return row.tied_copy == tied_copy && parameter(row).name == name;
  });
  return found == rows.end() ? nullptr : &*found;
}

LocalTable make_local_table(const config::Model& model, const StageMap& map, int stage, int tensor, int rank) {
  LocalTable table{model_parameters(model), {}};
  const auto add = [&](int index, int chunk, bool tied_copy) {
    const Parameter& parameter = table.parameters[index];
    Slice slice = slice_of(parameter, tensor, rank);
    const std::int64_t elements = slice.elements() + slice.padding;
    const bool counted = !tied_copy && (parameter.split_axis || rank == 0);
    table.rows.push_back({index, chunk, tied_copy, counted, std::move(slice), 0, elements});
  };
  const auto& chunks = map.of_stage[stage];
  for (int c = 0; c < static_cast<int>(chunks.size()); ++c) {
    const Chunk& chunk = chunks[c];
    for (int k = 0; k < static_cast<int>(table.parameters.size()); ++k)
      if (holds(chunk, table.parameters[k], static_cast<int>(model.layers))) add(k, c, false);
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
