#include "spec/memory.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/alignment.h"

namespace trireme::spec {
namespace {

using base::aligned_bytes;
using base::DType;

/// What one of a group's reductions is of.
struct Message {
  DType type;
  std::int64_t elements;
};

/// Scratch of a group of `size` whose longest reduction is `longest`: a piece from every other member, or as much of it as fits;
/// a number of 8 bytes at least, from the exchange by which a grid is made.
std::int64_t exchange_scratch(Message longest, std::int64_t size, std::int64_t limit) {
  if (size == 1) return 0;
  const std::int64_t width = bytes_of(longest.type);
  const std::int64_t piece = (longest.elements + size - 1) / size, fits = limit / ((size - 1) * width);
  return (size - 1) * std::max({std::int64_t{8}, width, width * std::min(piece, fits)});
}

std::int64_t activations(const Sizes& sizes, const std::vector<Chunk>& chunks, const std::vector<int>& slots) {
  std::int64_t sum = 0;
  for (std::size_t c = 0; c < chunks.size(); ++c)
    sum += slots[c] * (buffer_bytes(Owner::slot, false, sizes) + chunks[c].layers * buffer_bytes(Owner::layer, false, sizes));
  return sum;
}

std::int64_t scratch(const Sizes& sizes, const std::vector<Chunk>& chunks) {
  const bool head = std::any_of(chunks.begin(), chunks.end(), [](const Chunk& chunk) { return chunk.head; });
  return buffer_bytes(Owner::layer, true, sizes) + (head ? buffer_bytes(Owner::head, true, sizes) : 0);
}

std::int64_t communication(const config::Config& config, const LocalTable& table, const StageMap& map, const Sizes& sizes,
                           const MemoryLayout& layout) {
  const std::int64_t t = config.parallel.tensor, p = map.stages, limit = layout.exchange_bytes;
  const std::int64_t tied = tied_elements(table);
  std::int64_t longest = tied;  // of the data group's reductions
  for (const Bucket& bucket : gradient_buckets(table)) longest = std::max(longest, bucket.elements);
  const BufferFacts& partial = facts_of(Buffer::partial);
  const Message activation{partial.type(sizes), table.rows.empty() ? 0 : partial.elements(sizes)};
  const Message norms{DType::fp64, t * static_cast<std::int64_t>(table.parameters.size())};  // see train::GradientNorm
  const DType gradient = type_of(State::gradient);
  return exchange_scratch(activation, t, limit) + exchange_scratch({gradient, longest}, layout.data, limit) +
         exchange_scratch(norms, t * p, limit) + (tied > 0 && p > 1 ? exchange_scratch({gradient, tied}, 2, limit) : 0);
}

/// Tensor ranks such that every other one stores as much as one of them: rank 0 stores what is not split too, and of the token
/// embedding the ranks before one hold only real rows, the ranks behind it only padding.
std::set<int> unlike_ranks(const config::Model& model, int tensor) {
  const std::int64_t rows = padded_vocabulary(model.vocabulary, tensor) / tensor;
  const int last_row = static_cast<int>((model.vocabulary - 1) / rows);
  std::set<int> ranks{0, 1, last_row, last_row + 1};
  ranks.erase(ranks.lower_bound(tensor), ranks.end());
  return ranks;
}

/// Of what checkpoints store, the most that any rank of the stage holds.
std::int64_t snapshot_bytes(const config::Config& config, const StageMap& map, const MemoryLayout& layout) {
  const int t = static_cast<int>(config.parallel.tensor);
  std::int64_t most = 0;
  for (const int rank : unlike_ranks(config.model, t))
    most = std::max(most, most_stored_elements(make_local_table(config.model, map, layout.stage, t, rank), layout.data));
  return most * stored_bytes();
}

}  // namespace

std::int64_t StageMemory::total() const { return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}); }

StageMemory stage_memory(const config::Config& config, const StageMap& map, const MemoryLayout& layout) {
  const int t = static_cast<int>(config.parallel.tensor);
  const Sizes sizes = make_sizes(config);
  const LocalTable table = make_local_table(config.model, map, layout.stage, t, 0);
  const auto& chunks = map.of_stage[layout.stage];
  const auto flat = [&](State state) { return aligned_bytes(type_of(state), table.elements); };
  StageMemory memory;
  memory[MemoryClass::parameters] = flat(State::weight);
  if (has_compute_copy(sizes.compute)) memory[MemoryClass::parameters] += aligned_bytes(sizes.compute, table.elements);
  memory[MemoryClass::gradients] = flat(State::gradient);
  // Where one stage holds both ends of the tied embedding, each end has a gradient of its own.
  if (map.stages == 1) memory[MemoryClass::gradients] += aligned_bytes(type_of(State::gradient), tied_elements(table));
  memory[MemoryClass::optimizer] = flat(State::first_moment) + flat(State::second_moment);
  memory[MemoryClass::activations] = activations(sizes, chunks, layout.slots);
  memory[MemoryClass::scratch] = scratch(sizes, chunks);
  if (config.checkpoint.every > 0) memory[MemoryClass::snapshot] = snapshot_bytes(config, map, layout);
  memory[MemoryClass::communication] = communication(config, table, map, sizes, layout);
  return memory;
}

std::int64_t checkpoint_bytes(const config::Model& model) { return stored_bytes() * parameter_count(model); }

}  // namespace trireme::spec
