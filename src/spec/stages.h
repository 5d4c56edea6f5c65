// Which layers each pipeline stage holds.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "spec/parameters.h"

namespace trireme::spec {

/// A run of layers, first_layer .. first_layer + layers - 1; the first model chunk holds the embedding too, the last the final
/// norm and the output layer (head).
struct Chunk {
  int first_layer = 0, layers = 0;
  bool embedding = false, head = false;
};

struct StageMap {
  int stages = 1, chunks = 1;                // p, v
  std::vector<std::vector<Chunk>> of_stage;  // [p][v]; model chunk c p + r is chunk c of stage r
  ParameterTable parameters;                 // of the model
};

/// parallel.stages when given, else the cut whose costliest model chunk is cheapest, embedding and output layer counted (costs
/// in FLOPs, flops.h); every chunk then holds a
/// layer at least, but the first and the last, which may hold the embedding or the output layer alone.
/// The sum of the layers is that of the model, or std::logic_error.
StageMap make_stage_map(const config::Model& model, const config::Parallel& parallel);

/// One line a stage: its chunks' layers, embedding, head, and its share of the cost of the costliest.
std::string describe(const StageMap& map, const config::Model& model);

}  // namespace trireme::spec
