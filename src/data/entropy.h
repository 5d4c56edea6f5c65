// How predictable a stream of tokens is to one who knows only the last k of them: the yardstick beside a loss.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

namespace trireme::data {

/// Counts the (k+1)-grams of a stream, k = 0 .. 3. Memory: about 40 bytes for each different one.
class EntropyCounter {
 public:
  explicit EntropyCounter(int order);  // k

  /// The next tokens of the stream, ids 0 .. 2^(64 / (k+1)) - 1 (65535 for k = 3).
  void add(std::span<const std::int32_t> ids);

  /// H = sum over contexts of p(context) H(next | context), in nats a token; the counts are the probabilities. 0 for a stream of
  /// k tokens or fewer. An estimate from below: it has seen the stream that it describes.
  double nats() const;

 private:
  int order_, bits_;  // bits of an id in a packed gram
  std::int64_t tokens_ = 0;
  std::uint64_t gram_ = 0;  // the last k+1 tokens, the newest in the lowest bits
  std::unordered_map<std::uint64_t, std::int64_t> counts_;
};

}  // namespace trireme::data
