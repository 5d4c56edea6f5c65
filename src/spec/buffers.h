// Every buffer that a rank computes in, said once: its name, elements, numbers and life. The model takes its views by walking
// this table, the prediction of memory sums it, the search for numbers that are not finite looks at what it names.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/dtype.h"
#include "config/config.h"

namespace trireme::spec {

/// What one rank computes on for one microbatch: elements, and the type of most of them.
struct Sizes {
  std::int64_t rows;              // n = s b
  std::int64_t hidden;            // h
  std::int64_t local_hidden;      // h/t
  std::int64_t feed_forward;      // 4h/t
  std::int64_t local_heads;       // a/t
  std::int64_t local_vocabulary;  // Vp/t
  base::DType compute;            // of activations
};
Sizes make_sizes(const config::Config& config);

/// What has a buffer; the embedding works in those of its slot.
enum class Owner {
  slot,   // a microbatch in a chunk of layers
  layer,  // the same in one layer
  head    // the output layer
};

/// From when to when a buffer's values are needed.
enum class Life {
  kept,          // from the forward pass of a microbatch to its backward pass
  recomputable,  // likewise, but what is kept could form it again
  halves,        // from the gradient of a layer's inputs to that of its weights, which follows at once today
  scratch        // within one call
};
/// One buffer serves all microbatches, and all layers of a stage.
constexpr bool is_shared(Life life) { return life == Life::halves || life == Life::scratch; }

/// What kind of numbers a buffer holds; the type follows.
enum class Numbers {
  activations,  // and their gradients, logits among them: the compute type
  statistics,   // of rows: fp32, whatever the compute type is
  indices       // int32
};

/// In the order of the table. n = s b; a matrix is named by what it forms.
enum class Buffer {
  // slot
  input,     // [n, h]: received, or the embedding's output
  gradient,  // [n, h]: received, or formed by the head; turned in place into the gradient of `input`
  tokens,    // [s, b]
  targets,   // [s, b]
  // layer, forward
  norm1,      // [n, h]
  mean1,      // [n]
  rstd1,      // [n]
  qkv,        // [s, b, 3, a/t, h/a]
  attention,  // [n, h/t]
  log_sum,    // [b, a/t, s]
  middle,     // [n, h]: input of the second norm
  norm2,      // [n, h]
  mean2,      // [n]
  rstd2,      // [n]
  up,         // [n, 4h/t]: before GELU
  gelu,       // [n, 4h/t]
  output,     // [n, h]
  // layer, shared
  partial,      // [n, h]: a row-parallel product before its all-reduce; its masked gradient
  d_norm,       // [n, h]
  d_wide,       // [n, 4h/t]
  d_attention,  // [n, h/t]
  d_qkv,        // [n, 3h/t]
  // head
  head_norm,    // [n, h]
  d_head_norm,  // [n, h]
  head_mean,    // [n]
  head_rstd,    // [n]
  maximum,      // [n]
  losses,       // [n]
  sums,         // [2, n]: sums of exponentials, targets' logits; one message
  logits        // [n, Vp/t]: one type with what they are the product of; softmax and sums of them are formed in fp32
};
inline constexpr int buffer_count = static_cast<int>(Buffer::logits) + 1;

struct BufferFacts {
  Buffer buffer;
  Owner owner;
  std::string_view name;  // in messages, under the parameters' words
  std::int64_t (*elements)(const Sizes& sizes);
  Numbers numbers;
  Life life;
  bool row_a_token;  // a row of features for each of the n tokens, in their order

  base::DType type(const Sizes& sizes) const;
  /// As an arena takes it.
  std::int64_t bytes(const Sizes& sizes) const;
};

/// The table, in the order of `Buffer`.
std::span<const BufferFacts, buffer_count> buffers();
const BufferFacts& facts_of(Buffer buffer);

/// Bytes of one owner's buffers: of those that are shared, or of the others.
std::int64_t buffer_bytes(Owner owner, bool shared, const Sizes& sizes);

}  // namespace trireme::spec
