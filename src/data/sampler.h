// Which sample stands at which place of a run: a pure function of (seed, place), so that layout and restarts cannot change it.
#pragma once

#include <cstdint>

namespace trireme::data {

/// N of a stream: sample i is tokens i s .. i s + s, its last token the first of the next.
constexpr std::int64_t samples_of(std::int64_t tokens, std::int64_t sequence) { return tokens > 0 ? (tokens - 1) / sequence : 0; }

/// A bijection of 0 .. size-1 chosen by (key, number), computed without a table: a balanced Feistel network over the smallest
/// 4^w >= size, with Philox as the round function; a result >= size goes through again until it falls inside (cycle walking,
/// Black and Rogaway 2002; fewer than 4 passes in the mean). 0 <= index < size < 2^62.
std::int64_t permuted(std::int64_t index, std::int64_t size, std::uint64_t key, std::uint64_t number);

class Sampler {
 public:
  /// `samples` is N, `batch` is B. Refuses N < B: one step would pass through the data more than once.
  Sampler(std::int64_t samples, std::int64_t batch, std::uint64_t seed, bool shuffle);

  /// The sample at global position g >= 0 (step k from 0 takes k B .. k B + B - 1): g mod N, or a permutation of its epoch.
  std::int64_t sample_at(std::int64_t position) const;

 private:
  std::int64_t samples_;
  std::uint64_t key_;
  bool shuffle_;
};

}  // namespace trireme::data
