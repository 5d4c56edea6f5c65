// The Markov source. Oracle: entropy counted in a long draw from it (order 1 knows all that a first-order chain remembers).
#include "data/synthetic.h"

#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "data/entropy.h"

namespace {

using namespace trireme;
using data::MarkovSource;

std::vector<std::int32_t> draw(const MarkovSource& source, std::int64_t index, std::int64_t sequence) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(sequence + 1));
  source.sample(index, tokens.data());
  return tokens;
}

TEST(Markov, EntropyRateAgreesWithALongDraw) {
  for (const std::int64_t vocabulary : {1, 2, 3, 17, 256}) {
    constexpr std::int64_t sequence = 2000000;
    const MarkovSource source(vocabulary, sequence, 1, MarkovSource::Part::training);
    data::EntropyCounter first(1), second(2);
    const auto tokens = draw(source, 0, sequence);
    first.add(tokens);
    second.add(tokens);
    // Statistical: standard deviation of the mean of 2e6 surprises of about 1 nat, correlated over some tokens, is near 1e-3;
    // counting 4 V transitions biases by 3 V / (2 * 2e6) < 2e-4.
    EXPECT_NEAR(first.nats(), source.entropy_rate(), 3e-3) << "V = " << vocabulary;
    EXPECT_NEAR(second.nats(), source.entropy_rate(), 4e-3) << "V = " << vocabulary << ": more context cannot help";
  }
}

TEST(Markov, FirstTokensAreStationary) {
  // Tokens at place 0 and at place 64 of many samples have the same frequencies: two-sample chi-square over the ids, mean = ids,
  // bound five standard deviations above.
  const std::int64_t vocabulary = 32, sequence = 64;
  const MarkovSource source(vocabulary, sequence, 5, MarkovSource::Part::training);
  std::vector<double> begin(32), end(32);
  for (std::int64_t i = 0; i < 40000; ++i) {
    const auto tokens = draw(source, i, sequence);
    ++begin[static_cast<std::size_t>(tokens.front())];
    ++end[static_cast<std::size_t>(tokens.back())];
  }
  double sum = 0;
  for (std::size_t id = 0; id < 32; ++id)
    if (begin[id] + end[id] > 0) sum += (begin[id] - end[id]) * (begin[id] - end[id]) / (begin[id] + end[id]);
  EXPECT_LT(sum, 32 + 5 * std::sqrt(2 * 32.0));
}

TEST(Markov, AtMostFourSuccessorsAndTheyVary) {
  const MarkovSource source(256, 200000, 2, MarkovSource::Part::training);
  const auto tokens = draw(source, 3, 200000);
  std::vector<std::set<std::int32_t>> successors(256);
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) successors[static_cast<std::size_t>(tokens[i])].insert(tokens[i + 1]);
  for (const auto& row : successors) EXPECT_LE(row.size(), 4u);
  // Rare ids need longer draws than this one; most are there.
  EXPECT_GT(std::set<std::int32_t>(tokens.begin(), tokens.end()).size(), 200u);
}

TEST(Markov, SamplesAreFunctionsOfSeedPartAndIndex) {
  const std::int64_t sequence = 32;
  const auto source = [&](std::uint64_t seed, MarkovSource::Part part) { return MarkovSource(256, sequence, seed, part); };
  const auto training = MarkovSource::Part::training, validation = MarkovSource::Part::validation;
  EXPECT_EQ(draw(source(1, training), 9, sequence), draw(source(1, training), 9, sequence));
  EXPECT_EQ(source(1, training).entropy_rate(), source(1, validation).entropy_rate()) << "one chain, two parts";
  std::set<std::vector<std::int32_t>> different;
  for (std::int64_t i = 0; i < 500; ++i)
    for (const auto part : {training, validation}) different.insert(draw(source(1, part), i, sequence));
  different.insert(draw(source(2, training), 0, sequence));
  EXPECT_EQ(different.size(), 1001u);
}

}  // namespace
