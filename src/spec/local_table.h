// The rows of the parameter table that one rank holds, and where: one flat buffer for weights, the same places in the buffers of
// gradients and moments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/parameters.h"
#include "spec/stages.h"

namespace trireme::spec {

struct LocalParameter {
  int index;              // row of model_parameters
  int chunk;              // of this stage
  bool tied_copy;         // the output layer's copy of the token embedding (last stage, p > 1)
  bool counted;           // this rank's slice counts in the gradient norm and is what is stored: exactly one rank of the copies
  Slice slice;            // of the global tensor
  std::int64_t offset;    // in the flat buffer, elements, a multiple of 16
  std::int64_t elements;  // with padding
};

struct LocalTable {
  ParameterTable parameters;         // all of the model, in table order
  std::vector<LocalParameter> rows;  // chunk by chunk, in the order of the forward pass: their indices rise, but for a tied copy
  std::int64_t decayed = 0;          // elements at the front of the flat buffer: rows with weight decay, those without follow
  std::int64_t elements = 0;         // of the flat buffer

  const Parameter& parameter(const LocalParameter& row) const { return parameters[static_cast<std::size_t>(row.index)]; }
  /// The row of that name held here, or nullptr. The tied copy is found by `tied_copy`.
  const LocalParameter* find(const std::string& name, bool tied_copy = false) const;
};

/// Pure. What stage `stage` and tensor rank `rank` of `tensor` hold.
LocalTable make_local_table(const config::Model& model, const StageMap& map, int stage, int tensor, int rank);

/// The rows that data rank `rank` of `data` writes into a checkpoint: each counted row that has elements belongs to one of them,
/// in contiguous runs of about equal size. So copies are written once, and every data rank takes its share.
std::vector<const LocalParameter*> stored_rows(const LocalTable& table, int data, int rank);
/// Elements of one copy of these rows, without padding of the vocabulary, each row rounded up to buffer_alignment.
std::int64_t stored_elements(const std::vector<const LocalParameter*>& rows);
/// The largest of these numbers over all `data` ranks, in one walk.
std::int64_t most_stored_elements(const LocalTable& table, int data);

/// What is reduced over the data ranks at once: the decayed rows of one layer, -1 the positions, when its backward pass is done;
/// last of all the rows without decay, of all layers. The token embedding goes by itself, after the tied gradients were added.
struct Bucket {
  static constexpr int all_layers = -2;
  int layer;
  std::int64_t offset, elements;  // in the flat buffer
};
std::vector<Bucket> gradient_buckets(const LocalTable& table);
/// Elements of the token embedding, or of the output layer's copy of it, with padding; 0 on stages that hold neither.
std::int64_t tied_elements(const LocalTable& table);

}  // namespace trireme::spec
