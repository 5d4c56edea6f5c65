#include "spec/memory.h"

#include <algorithm>
#include <numeric>

#include "base/alignment.h"

namespace trireme::spec {
namespace {

constexpr std::int64_t element = 4;  // bytes of fp32 and of a token's int32

/// Bytes that an arena gives for `elements`.
std::int64_t taken(std::int64_t elements) { return base::round_up(elements * element, base::buffer_alignment); }

template <std::size_t n>
std::int64_t taken(const std::array<std::int64_t, n>& buffers) {
  std::int64_t sum = 0;
  for (const std::int64_t elements : buffers) sum += taken(elements);
  return sum;
}

/// Scratch of a group of `size` whose longest reduction has `elements` of `width` bytes: a piece from every other member, or as
/// much of it as fits; a number of 8 bytes at least, from the exchange by which a grid is made.
std::int64_t exchange_scratch(std::int64_t elements, std::int64_t width, std::int64_t size, std::int64_t limit) {
  if (size == 1) return 0;
  const std::int64_t piece = (elements + size - 1) / size, fits = limit / ((size - 1) * width);
  return (size - 1) * std::max({std::int64_t{8}, width, width * std::min(piece, fits)});
}

std::int64_t activations(const Sizes& sizes, const std::vector<Chunk>& chunks, const std::vector<int>& slots) {
  std::int64_t sum = 0;
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    const std::int64_t ends = 2 * taken(sizes.rows * sizes.hidden);  // a slot's input and its gradient
    const std::int64_t tokens = 2 * taken(sizes.rows);               // inputs and targets
    sum += slots[c] * (ends + tokens + chunks[c].layers * taken(layer_activations(sizes)));
  }
  return sum;
}

std::int64_t communication(const config::Config& config, const LocalTable& table, const StageMap& map, const Sizes& sizes,
                           const MemoryLayout& layout) {
  const std::int64_t t = config.parallel.tensor, p = map.stages, limit = layout.exchange_bytes;
  const std::int64_t tied = tied_elements(table);
  std::int64_t longest = tied;  // of the data group's reductions
  for (const Bucket& bucket : gradient_buckets(table)) longest = std::max(longest, bucket.elements);
  const std::int64_t activation = table.rows.empty() ? 0 : sizes.rows * sizes.hidden;
  const std::int64_t norms = t * static_cast<std::int64_t>(table.parameters.size());  // doubles, see train::GradientNorm
  return exchange_scratch(activation, element, t, limit) + exchange_scratch(longest, element, layout.data, limit) +
         exchange_scratch(norms, sizeof(double), t * p, limit) +
         (tied > 0 && p > 1 ? exchange_scratch(tied, element, 2, limit) : 0);
}

/// Of the weights and two moments, the most that any rank of the stage stores.
std::int64_t snapshot_bytes(const config::Config& config, const StageMap& map, const MemoryLayout& layout) {
  const int t = static_cast<int>(config.parallel.tensor);
  std::int64_t most = 0;
  for (int rank = 0; rank < t; ++rank) {
    const LocalTable table = make_local_table(config.model, map, layout.stage, t, rank);
    for (int data = 0; data < layout.data; ++data) most = std::max(most, stored_elements(stored_rows(table, layout.data, data)));
  }
  return 3 * most * element;
}

}  // namespace

Sizes make_sizes(const config::Model& model, std::int64_t micro_batch, int tensor) {
  return {.rows = model.sequence * micro_batch,
          .hidden = model.hidden,
          .local_hidden = model.hidden / tensor,
          .feed_forward = 4 * model.hidden / tensor,
          .local_heads = model.heads / tensor,
          .local_vocabulary = padded_vocabulary(model.vocabulary, tensor) / tensor};
}

std::array<std::int64_t, 13> layer_activations(const Sizes& s) {
  const std::int64_t n = s.rows, full = n * s.hidden, local = n * s.local_hidden, wide = n * s.feed_forward;
  return {full,               // norm1
          n,                  // mean1
          n,                  // rstd1
          3 * local,          // qkv
          local,              // attention
          n * s.local_heads,  // log_sum
          full,               // middle
          full,               // norm2
          n,                  // mean2
          n,                  // rstd2
          wide,               // up
          wide,               // gelu
          full};              // output
}

std::array<std::int64_t, 5> layer_scratch(const Sizes& s) {
  const std::int64_t n = s.rows, full = n * s.hidden, local = n * s.local_hidden;
  return {full,                // partial
          full,                // d_norm
          n * s.feed_forward,  // d_wide
          local,               // d_attention
          3 * local};          // d_qkv
}

std::array<std::int64_t, 8> head_scratch(const Sizes& s) {
  const std::int64_t n = s.rows, full = n * s.hidden;
  return {full,                     // norm
          full,                     // d_norm
          n,                        // mean
          n,                        // rstd
          n,                        // maximum
          n,                        // losses
          2 * n,                    // sums
          n * s.local_vocabulary};  // logits
}

std::int64_t StageMemory::total() const { return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}); }

StageMemory stage_memory(const config::Config& config, const StageMap& map, const MemoryLayout& layout) {
  const int t = static_cast<int>(config.parallel.tensor);
  const Sizes sizes = make_sizes(config.model, config.batch.micro, t);
  const LocalTable table = make_local_table(config.model, map, layout.stage, t, 0);
  const auto& chunks = map.of_stage[layout.stage];
  const bool head = std::any_of(chunks.begin(), chunks.end(), [](const Chunk& chunk) { return chunk.head; });
  const std::int64_t flat = taken(table.elements);
  // Where one stage holds both ends of the tied embedding, each end has a gradient of its own.
  const std::int64_t second_gradient = map.stages == 1 ? taken(table.find(token_embedding)->elements) : 0;
  return {{flat, flat + second_gradient, 2 * flat, activations(sizes, chunks, layout.slots),
           taken(layer_scratch(sizes)) + (head ? taken(head_scratch(sizes)) : 0),
           config.checkpoint.every > 0 ? snapshot_bytes(config, map, layout) : 0,
           communication(config, table, map, sizes, layout)}};
}

std::int64_t checkpoint_bytes(const config::Model& model) { return 3 * element * parameter_count(model); }

}  // namespace trireme::spec
