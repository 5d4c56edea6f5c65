// Tokens without a file: a first-order Markov chain over the vocabulary whose entropy rate is known, so that a loss can be
// judged against the best that any model can reach.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "data/source.h"

namespace trireme::data {

/// Each token has four successors with the probabilities 1/2, 1/4, 1/8, 1/8. Three are drawn by Philox from (seed, token), low
/// ids more often (floor(V u^2)), so that a model first learns which tokens are frequent; the last is the token's neighbour
/// (id + 1) mod V, which makes every token reachable. Sample i is a function of (seed, i) alone.
class MarkovSource : public TokenSource {
 public:
  enum class Part : std::uint64_t { training = 0, validation = 1 };  // samples with nothing in common

  MarkovSource(std::int64_t vocabulary, std::int64_t sequence, std::uint64_t seed, Part part);

  std::int64_t samples() const override { return 1ll << 32; }
  void sample(std::int64_t index, std::int32_t* tokens) const override;

  /// Nats a token: the least loss in the mean over samples. H = sum over tokens of pi(token) H(successors of token), pi the
  /// stationary distribution, from which the first token of a sample is drawn too.
  double entropy_rate() const;

 private:
  std::vector<double> stationary() const;  // [V]

  std::int64_t vocabulary_, sequence_;
  std::uint64_t key_;
  Part part_;
  std::vector<std::array<std::int32_t, 4>> successors_;  // [V]
  std::vector<double> stationary_;                       // [V]
  std::vector<double> cumulative_;                       // [V], its running sum
};

}  // namespace trireme::data
