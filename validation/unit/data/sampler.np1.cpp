// Order of samples. Oracle: the definition of a bijection, and chi-square tests of uniformity.
#include "data/sampler.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"

namespace {

using namespace trireme;

std::vector<std::int64_t> epoch(std::int64_t samples, std::uint64_t seed, std::int64_t number) {
  const data::Sampler sampler(samples, 1, seed, true);
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < samples; ++i) order.push_back(sampler.sample_at(number * samples + i));
  return order;
}

std::vector<std::int64_t> counting(std::int64_t samples) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(samples));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

TEST(Samples, AreCountedWithTheTokenThatFollows) {
  EXPECT_EQ(data::samples_of(0, 4), 0);
  EXPECT_EQ(data::samples_of(4, 4), 0);
  EXPECT_EQ(data::samples_of(5, 4), 1);
  EXPECT_EQ(data::samples_of(8, 4), 1);
  EXPECT_EQ(data::samples_of(9, 4), 2);
}

TEST(Sampler, WithoutShuffleCounts) {
  const data::Sampler sampler(5, 2, 1, false);
  for (std::int64_t g = 0; g < 17; ++g) EXPECT_EQ(sampler.sample_at(g), g % 5);
}

TEST(Sampler, EveryEpochIsAPermutation) {
  std::vector<std::int64_t> sizes = counting(301);
  sizes.erase(sizes.begin());
  for (std::int64_t size : {1000, 4095, 4096, 4097, 65535, 65536, 65537}) sizes.push_back(size);
  for (const std::int64_t size : sizes)
    for (const std::int64_t number : {0, 1, 7}) {
      auto order = epoch(size, 1, number);
      std::sort(order.begin(), order.end());
      ASSERT_EQ(order, counting(size)) << "N = " << size << ", epoch " << number;
    }
}

TEST(Sampler, EpochsAndSeedsDiffer) {
  const auto order = epoch(1000, 1, 0);
  EXPECT_EQ(order, epoch(1000, 1, 0));
  for (const auto& other : {epoch(1000, 1, 1), epoch(1000, 2, 0), counting(1000)}) {
    // Two random permutations agree in one place in the mean (Poisson): more than 10 has a probability of 1e-8.
    int equal = 0;
    for (std::size_t i = 0; i < order.size(); ++i) equal += order[i] == other[i];
    EXPECT_LE(equal, 10);
  }
}

/// Sum of (observed - expected)^2 / expected.
double chi_square(const std::vector<int>& counts, double expected) {
  double sum = 0;
  for (const int count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

TEST(Sampler, AllOrdersOfAFewSamplesAreEquallyLikely) {
  // 4! orders of N = 4 over 24,000 seeds: chi-square with 23 degrees of freedom is above 60 with a probability of 4e-5.
  // The seeds are fixed, so that the test cannot fail by chance.
  std::vector<std::int64_t> order = counting(4);
  std::vector<std::vector<std::int64_t>> orders;
  do orders.push_back(order);
  while (std::next_permutation(order.begin(), order.end()));
  std::vector<int> counts(orders.size());
  for (std::uint64_t seed = 0; seed < 24000; ++seed)
    ++counts[static_cast<std::size_t>(std::find(orders.begin(), orders.end(), epoch(4, seed, 0)) - orders.begin())];
  EXPECT_LT(chi_square(counts, 1000), 60);
}

TEST(Sampler, PlacesAndNeighboursLookUniform) {
  // 255 degrees of freedom: mean 255, standard deviation 22.6; 370 is five of them above.
  constexpr std::int64_t size = 65537;
  const auto order = epoch(size, 3, 2);
  std::vector<int> place(256), step(256);
  for (std::int64_t i = 0; i < 25600; ++i) ++place[static_cast<std::size_t>(order[static_cast<std::size_t>(i)] * 256 / size)];
  for (std::size_t i = 0; i + 1 < order.size(); ++i)
    ++step[static_cast<std::size_t>((order[i + 1] - order[i] + size) % size * 256 / size)];
  EXPECT_LT(chi_square(place, 100), 370);
  EXPECT_LT(chi_square(step, 256), 370);
}

TEST(Sampler, HugeSetsNeedNoTable) {
  constexpr std::int64_t size = (1ll << 61) + 1;
  std::vector<std::int64_t> seen;
  for (std::int64_t i = 0; i < 1000; ++i) seen.push_back(data::permuted(size - 1 - i, size, 1, 0));
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
  EXPECT_TRUE(seen.front() >= 0 && seen.back() < size);
}

TEST(Sampler, RefusesFewerSamplesThanABatch) {
  EXPECT_NO_THROW(data::Sampler(8, 8, 1, true));
  try {
    data::Sampler(7, 8, 1, true);
    ADD_FAILURE();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), base::Exit::bad_input);
  }
}

}  // namespace
