#include "spec/stages.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

#include "spec/flops.h"

namespace trireme::spec {
namespace {

/// A token's forward cost of the chunk, in FLOPs; the embedding is a look-up, counted as the bytes of one add.
double cost(const Chunk& chunk, const config::Model& model) {
  return chunk.layers * layer_flops(model) + (chunk.head ? head_flops(model) : 0) +
         (chunk.embedding ? static_cast<double>(model.hidden) : 0);
}

Chunk chunk_at(int index, int count, int first_layer, int layers) {
  return {first_layer, layers, index == 0, index == count - 1};
}

/// Layers of each of `count` model chunks: least maximum cost, then least sum of squares, by dynamic programming over
/// (chunks, layers placed). No chunk of the best cut costs more than one of an even cut with both ends of the model on it.
std::vector<std::int64_t> balanced_cut(const config::Model& model, int count) {
  struct Best {
    double maximum = std::numeric_limits<double>::infinity(), squares = std::numeric_limits<double>::infinity();
    int layers = 0;  // of the last chunk
  };
  const int l = static_cast<int>(model.layers);
  std::vector<std::vector<Best>> best(count + 1, std::vector<Best>(l + 1));
  best[0][0] = {0, 0, 0};
  const double most = cost({0, (l + count - 1) / count, true, true}, model);
  for (int c = 0; c < count; ++c)
    for (int placed = 0; placed <= l; ++placed)
      for (int n = count > 1 && (c == 0 || c == count - 1) ? 0 : 1; placed + n <= l; ++n) {
        const Best& from = best[c][placed];
        const double added = cost(chunk_at(c, count, placed, n), model);
        if (added > most || from.maximum > most) break;
        const Best candidate{std::max(from.maximum, added), from.squares + added * added, n};
        Best& to = best[c + 1][placed + n];
        if (std::pair(candidate.maximum, candidate.squares) < std::pair(to.maximum, to.squares)) to = candidate;
      }
  std::vector<std::int64_t> layers(count);
  for (int c = count, placed = l; c > 0; --c) placed -= static_cast<int>(layers[c - 1] = best[c][placed].layers);
  return layers;
}

}  // namespace

StageMap make_stage_map(const config::Model& model, const config::Parallel& parallel) {
  const int p = static_cast<int>(parallel.pipeline), v = static_cast<int>(parallel.chunks), count = p * v;
  const auto layers = parallel.stages.empty() ? balanced_cut(model, count) : parallel.stages;
  if (std::accumulate(layers.begin(), layers.end(), std::int64_t{0}) != model.layers || static_cast<int>(layers.size()) != count)
    throw std::logic_error("stage map: the chunks' layers do not add up to the model's");
  StageMap map{p, v, std::vector<std::vector<Chunk>>(static_cast<std::size_t>(p)), ParameterTable(model_parameters(model))};
  int first = 0;
  for (int c = 0; c < count; ++c) {
    map.of_stage[c % p].push_back(chunk_at(c, count, first, static_cast<int>(layers[c])));
    first += static_cast<int>(layers[c]);
  }
  return map;
}

std::string describe(const StageMap& map, const config::Model& model) {
  std::vector<double> costs;
  for (const auto& chunks : map.of_stage) {
    costs.push_back(0);
    for (const Chunk& chunk : chunks) costs.back() += cost(chunk, model);
  }
  const double largest = *std::max_element(costs.begin(), costs.end());
  std::string text;
  for (std::size_t stage = 0; stage < map.of_stage.size(); ++stage) {
    std::string parts;
    for (const Chunk& chunk : map.of_stage[stage]) {
      if (chunk.embedding) parts += ", embedding";
      if (chunk.layers == 1) parts += fmt::format(", layer {}", chunk.first_layer);
      if (chunk.layers > 1) parts += fmt::format(", layers {}-{}", chunk.first_layer, chunk.first_layer + chunk.layers - 1);
      if (chunk.head) parts += ", final norm, output";
    }
    text += fmt::format("  stage {}: {} (cost {:.0f} % of the costliest)\n", stage, parts.empty() ? "no layers" : parts.substr(2),
                        100 * costs[stage] / largest);
  }
  return text;
}

}  // namespace trireme::spec
