// The order and the rounding of a communicator's sums. Oracle: sums in rank order, where a form promises it; else, and for 2-byte
// types, sums in double precision with a bound on what rounding may add.
#pragma once

#include <cmath>

#include "validation/unit/grid/communicator_forms.h"

namespace trireme::test {

/// Whose sum depends on the order: 1e8 swallows a 1 in fp32, unless -1e8 came before.
inline float rounding_value(int from, std::int64_t index) {
  constexpr float cycle[] = {1e8f, 1.0f, -1e8f, 3.0f, 0.125f};
  return cycle[(from + index) % 5] * static_cast<float>(1 + index % 3);
}

inline float sum_in_rank_order(int ranks, std::int64_t index) {
  float sum = rounding_value(0, index);
  for (int r = 1; r < ranks; ++r) sum += rounding_value(r, index);
  return sum;
}

inline std::vector<float> rounding_values(int from, std::int64_t count) {
  std::vector<float> v;
  for (std::int64_t i = 0; i < count; ++i) v.push_back(rounding_value(from, i));
  return v;
}

class CommunicatorSums : public Communicators {};

TEST_P(CommunicatorSums, RunInRankOrder) {
  if (!GetParam().rank_order) return;
  for (const auto count : counts()) {
    Array<float> data(device(), rounding_values(rank(), count));
    std::vector<float> expected;
    for (std::int64_t i = 0; i < count; ++i) expected.push_back(sum_in_rank_order(size(), i));
    complete(group().all_reduce(data.view(), Reduce::sum, Traffic::control));
    EXPECT_EQ(data.numbers(), expected) << "count " << count;
  }
}

TEST_P(CommunicatorSums, InAnyOrderAreRightToRoundingAndEqualOnAllMembers) {
  constexpr std::int64_t count = 1000;
  Array<float> data(device(), rounding_values(rank(), count));
  complete(group().all_reduce(data.view(), Reduce::sum, Traffic::control));
  const std::vector<float> got = data.numbers();
  for (std::int64_t i = 0; i < count; ++i) {
    double sum = 0, magnitude = 0;
    for (int r = 0; r < size(); ++r) {
      sum += static_cast<double>(rounding_value(r, i));
      magnitude += std::abs(static_cast<double>(rounding_value(r, i)));
    }
    EXPECT_NEAR(got[static_cast<std::size_t>(i)], sum, (size() - 1) * 0x1p-24 * magnitude) << i;
  }
  std::vector<float> first = got;
  world().everyone().broadcast(first);
  EXPECT_EQ(got, first);
}

TEST_P(CommunicatorSums, LongerThanOneRoundKeepTheOrder) {
  if (!GetParam().rank_order) return;
  const std::int64_t count = GetParam().longest, part = count / size();
  Array<float> data(device(), rounding_values(rank(), count)), all(device(), rounding_values(rank(), part * size()));
  Array<float> mine(device(), part), gathered(device(), part * size());
  group().reduce_scatter(all.view(), mine.view(), Traffic::control);
  group().all_gather(mine.view(), gathered.view(), Traffic::control);
  complete(group().all_reduce(data.view(), Reduce::sum, Traffic::control));
  const std::vector<float> got = data.numbers(), scattered = gathered.numbers();
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const float expected = sum_in_rank_order(size(), i);
    wrong += got[static_cast<std::size_t>(i)] != expected;
    if (i < part * size()) wrong += scattered[static_cast<std::size_t>(i)] != expected;
  }
  EXPECT_EQ(wrong, 0);
}

/// Between -1 and 1, of all sizes.
template <class T>
T fraction(int from, std::int64_t index) {
  const auto turn = static_cast<double>(7 * index + 13 * from);
  return T(std::sin(turn) * std::exp2(-static_cast<double>((index + from) % 9)));
}

/// `got` is the sum of elements first, first + 1, ... of all ranks. One rounding of T to nearest is at most `unit` of the result.
/// In fp32 arithmetic each addition adds at most 2^-24 of the sum of magnitudes, and the result is rounded once; otherwise every
/// addition is rounded. The least number above 0 of fp16 is 2^-24.
template <class T>
void expect_rounded_sums(const std::vector<T>& got, int ranks, std::int64_t first, bool once) {
  const double unit = std::is_same_v<T, Bf16> ? 0x1p-8 : 0x1p-11;
  for (std::int64_t i = 0; i < std::ssize(got); ++i) {
    double sum = 0, magnitude = 0;
    for (int r = 0; r < ranks; ++r) {
      sum += static_cast<double>(fraction<T>(r, first + i));
      magnitude += std::abs(static_cast<double>(fraction<T>(r, first + i)));
    }
    const double adding = (ranks - 1) * 0x1p-24 * magnitude;
    const double bound = once ? unit * (std::abs(sum) + adding) + adding + 0x1p-25 : (ranks - 1) * (unit * magnitude + 0x1p-25);
    ASSERT_NEAR(static_cast<double>(got[static_cast<std::size_t>(i)]), sum, bound) << first + i;
  }
}

template <class T>
std::vector<T> fractions(int from, std::int64_t count) {
  std::vector<T> v;
  for (std::int64_t i = 0; i < count; ++i) v.push_back(fraction<T>(from, i));
  return v;
}

TEST_P(CommunicatorSums, OfTwoByteTypesAreFormedInFp32AndRoundedOnce) {
  const auto test = [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t part = 501, count = part * size();
    Array<T> all(device(), fractions<T>(rank(), count)), mine(device(), part);
    group().reduce_scatter(all.view(), mine.view(), Traffic::control);
    complete(group().all_reduce(all.view(), Reduce::sum, Traffic::control));
    expect_rounded_sums(all.numbers(), size(), 0, GetParam().rank_order);
    expect_rounded_sums(mine.numbers(), size(), part * rank(), GetParam().rank_order);
  };
  test(Bf16());
  test(Fp16());
}

}  // namespace trireme::test
