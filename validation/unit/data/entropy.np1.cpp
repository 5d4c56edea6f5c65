// Conditional entropy. Oracle: numbers by hand. Tolerance: rounding of a few additions and logarithms, 1e-12.
#include "data/entropy.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"

namespace {

using namespace trireme;
constexpr double rounding = 1e-12;

double entropy(int order, const std::vector<std::int32_t>& ids) {
  data::EntropyCounter counter(order);
  counter.add(ids);
  return counter.nats();
}

TEST(Entropy, OrderZeroIsThatOfTheFrequencies) {
  // 4 of 0, 2 of 1, 1 of 2, 1 of 3: (1/2) ln 2 + (1/4) ln 4 + 2 (1/8) ln 8 = 1.75 ln 2
  EXPECT_NEAR(entropy(0, {0, 0, 1, 0, 2, 1, 0, 3}), 1.75 * std::log(2.0), rounding);
  EXPECT_NEAR(entropy(0, {7, 7, 7}), 0, rounding);
}

TEST(Entropy, HigherOrdersKnowTheContext) {
  // Pairs 01 10 00 01 11 10: after 0 come 1 0 1, after 1 come 0 1 0; each 3 of 6 with ln 3 - (2/3) ln 2.
  const std::vector<std::int32_t> ids = {0, 1, 0, 0, 1, 1, 0};
  EXPECT_NEAR(entropy(1, ids), std::log(3.0) - 2.0 / 3 * std::log(2.0), rounding);
  // Triples 010 100 001 011 110: the context 01 is followed by 0 and 1, the three others by one token: (2/5) ln 2.
  EXPECT_NEAR(entropy(2, ids), 0.4 * std::log(2.0), rounding);
  // Quadruples 0100 1001 0011 0110: each context once.
  EXPECT_NEAR(entropy(3, ids), 0, rounding);
}

TEST(Entropy, PiecesOfAStreamAreOneStream) {
  data::EntropyCounter counter(2);
  for (const std::int32_t id : {0, 1, 0, 0, 1, 1, 0}) counter.add(std::vector{id});
  EXPECT_NEAR(counter.nats(), 0.4 * std::log(2.0), rounding);
}

TEST(Entropy, LargeIdsStayApart) {
  // ids whose low 16 bits agree; a packed gram that dropped bits would see one symbol.
  EXPECT_NEAR(entropy(0, {1, 1 + (1 << 30)}), std::log(2.0), rounding);
  EXPECT_NEAR(entropy(1, {0, 1 << 30, 0, 1}), 2.0 / 3 * std::log(2.0), rounding);
  EXPECT_NEAR(entropy(3, {65535, 65535, 65535, 0, 65535, 65535, 65535, 1}), 2.0 / 5 * std::log(2.0), rounding);
  EXPECT_THROW(entropy(3, {65536}), base::Error);
  EXPECT_THROW(entropy(0, {-1}), base::Error);
}

TEST(Entropy, ShortStreamsHaveNone) {
  EXPECT_EQ(entropy(0, {}), 0);
  EXPECT_EQ(entropy(3, {1, 2, 3}), 0);
}

}  // namespace
