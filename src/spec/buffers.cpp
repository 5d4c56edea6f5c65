#include "spec/buffers.h"

#include <array>

#include "base/alignment.h"
#include "spec/parameters.h"
#include "spec/state.h"

namespace trireme::spec {
namespace {

using base::DType;

constexpr std::int64_t number(const Sizes& s) { return s.rows; }  // one a token
constexpr std::int64_t full(const Sizes& s) { return s.rows * s.hidden; }
constexpr std::int64_t local(const Sizes& s) { return s.rows * s.local_hidden; }
constexpr std::int64_t three(const Sizes& s) { return 3 * local(s); }  // queries, keys, values
constexpr std::int64_t wide(const Sizes& s) { return s.rows * s.feed_forward; }
constexpr std::int64_t heads(const Sizes& s) { return s.rows * s.local_heads; }
constexpr std::int64_t pair(const Sizes& s) { return 2 * s.rows; }
constexpr std::int64_t words(const Sizes& s) { return s.rows * s.local_vocabulary; }

using enum Buffer;
using enum Owner;
using enum Life;
using enum Numbers;

constexpr std::array<BufferFacts, buffer_count> table = {{
    // buffer, owner, name, elements, numbers, life, row a token
    {input, slot, "input", full, activations, kept, true},
    {gradient, slot, "gradient of the input", full, activations, kept, true},
    {tokens, slot, "tokens", number, indices, kept, false},
    {targets, slot, "targets", number, indices, kept, false},

    {norm1, layer, "norm1", full, activations, recomputable, true},
    {mean1, layer, "mean of norm1", number, statistics, kept, false},
    {rstd1, layer, "deviation of norm1", number, statistics, kept, false},
    {qkv, layer, "attention.qkv", three, activations, kept, true},
    {attention, layer, "attention", local, activations, recomputable, true},
    {log_sum, layer, "sums of attention", heads, statistics, recomputable, false},
    {middle, layer, "attention.output and residual", full, activations, kept, true},
    {norm2, layer, "norm2", full, activations, recomputable, true},
    {mean2, layer, "mean of norm2", number, statistics, kept, false},
    {rstd2, layer, "deviation of norm2", number, statistics, kept, false},
    {up, layer, "mlp.up", wide, activations, kept, true},
    {gelu, layer, "mlp.up after GELU", wide, activations, recomputable, true},
    {output, layer, "mlp.down and residual", full, activations, kept, true},

    {partial, layer, "product of one tensor rank", full, activations, halves, true},
    {d_norm, layer, "gradient of a norm", full, activations, scratch, true},
    {d_wide, layer, "gradient of mlp.up", wide, activations, halves, true},
    {d_attention, layer, "gradient of attention", local, activations, scratch, true},
    {d_qkv, layer, "gradient of attention.qkv", three, activations, halves, true},

    {head_norm, head, "final norm", full, activations, scratch, true},
    {d_head_norm, head, "gradient of the final norm", full, activations, scratch, true},
    {head_mean, head, "mean of the final norm", number, statistics, scratch, false},
    {head_rstd, head, "deviation of the final norm", number, statistics, scratch, false},
    {maximum, head, "largest logits", number, statistics, scratch, false},
    {losses, head, "losses", number, statistics, scratch, false},
    {sums, head, "sums of exponentials", pair, statistics, scratch, false},
    {logits, head, "logits", words, activations, scratch, true},
}};

constexpr bool in_order() {
  for (int k = 0; k < buffer_count; ++k)
    if (table[k].buffer != static_cast<Buffer>(k)) return false;
  return true;
}
static_assert(in_order(), "a row of the table does not stand in the place of its buffer");

}  // namespace

Sizes make_sizes(const config::Config& config) {
  const config::Model& model = config.model;
  const int tensor = static_cast<int>(config.parallel.tensor);
  return {.rows = model.sequence * config.batch.micro,
          .hidden = model.hidden,
          .local_hidden = model.hidden / tensor,
          .feed_forward = 4 * model.hidden / tensor,
          .local_heads = model.heads / tensor,
          .local_vocabulary = padded_vocabulary(model.vocabulary, tensor) / tensor,
          .compute = compute_type(config)};
}

base::DType BufferFacts::type(const Sizes& sizes) const {
  switch (numbers) {
    case activations:
      return sizes.compute;
    case indices:
      return DType::int32;
    case statistics:
      break;
  }
  return DType::fp32;
}

std::int64_t BufferFacts::bytes(const Sizes& sizes) const { return base::aligned_bytes(type(sizes), elements(sizes)); }

std::span<const BufferFacts, buffer_count> buffers() { return table; }

const BufferFacts& facts_of(Buffer buffer) { return table[static_cast<std::size_t>(buffer)]; }

std::int64_t buffer_bytes(Owner owner, bool shared, const Sizes& sizes) {
  std::int64_t sum = 0;
  for (const BufferFacts& facts : table)
    if (facts.owner == owner && is_shared(facts.life) == shared) sum += facts.bytes(sizes);
  return sum;
}

}  // namespace trireme::spec
