#include "data/sampler.h"

#include <bit>

#include "base/error.h"
#include "base/philox.h"
#include "base/text.h"

namespace trireme::data {
namespace {

constexpr std::uint64_t rounds = 8;  // 4 make it pseudorandom (Luby and Rackoff 1988); small domains need some more

/// One pass of the network over 2 `width` bits.
std::uint64_t feistel(std::uint64_t value, int width, std::uint64_t key, std::uint64_t number) {
  const std::uint64_t mask = (1ull << width) - 1;
  std::uint64_t left = value >> width, right = value & mask;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::uint64_t mixed = left ^ (base::philox(key, number, round << 32 | right)[0] & mask);
    left = right;
    right = mixed;
  }
  return left << width | right;
}

}  // namespace

std::int64_t permuted(std::int64_t index, std::int64_t size, std::uint64_t key, std::uint64_t number) {
  const auto bound = static_cast<std::uint64_t>(size);
  const int width = static_cast<int>(std::bit_width(bound - 1) + 1) / 2;
  auto value = static_cast<std::uint64_t>(index);
  do value = feistel(value, width, key, number);
  while (value >= bound);
  return static_cast<std::int64_t>(value);
}

Sampler::Sampler(std::int64_t samples, std::int64_t batch, std::uint64_t seed, bool shuffle)
    : samples_(samples), key_(base::stream_key(seed, base::stream_id("data.order"))), shuffle_(shuffle) {
  if (samples < batch)
    base::refuse("data.tokens holds {}, batch.global = {}: a step needs at least as many different samples",
                 base::counted(samples, "sample"), batch);
}

std::int64_t Sampler::sample_at(std::int64_t position) const {
  const std::int64_t place = position % samples_, epoch = position / samples_;
  return shuffle_ ? permuted(place, samples_, key_, static_cast<std::uint64_t>(epoch)) : place;
}

}  // namespace trireme::data
