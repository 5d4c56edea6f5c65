// What every Communicator promises, tested on all ranks of the world. Oracle: the values each rank contributes are functions of
// (rank, index), so that each test computes what must arrive by itself. Comparisons are exact: the order of sums is promised.
#pragma once

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "validation/unit/support/mpi_main.h"
#include "validation/unit/support/views.h"

namespace trireme::test {

using grid::Communicator;
using grid::Reduce;
using grid::Ticket;
using grid::Traffic;
using kernels::View;

inline Communicator& group() { return world().everyone().group(); }
inline int size() { return group().size(); }
inline int rank() { return group().rank(); }

/// Tells where it came from; exact in fp32 sums of 8 ranks.
template <class T>
T value(int from, std::int64_t index) {
  return static_cast<T>(1000 * from + index % 997);
}

template <class T>
std::vector<T> values(int from, std::int64_t count) {
  std::vector<T> v(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) v[static_cast<std::size_t>(i)] = value<T>(from, i);
  return v;
}

/// Whose sum depends on the order: 1e8 swallows a 1 in fp32, unless -1e8 came before.
inline float rounding_value(int from, std::int64_t index) {
  constexpr float cycle[] = {1e8f, 1.0f, -1e8f, 3.0f, 0.125f};
  return cycle[(from + index) % 5] * static_cast<float>(1 + index % 3);
}

inline float sum_in_rank_order(std::int64_t index) {
  float sum = rounding_value(0, index);
  for (int r = 1; r < size(); ++r) sum += rounding_value(r, index);
  return sum;
}

inline std::vector<std::int64_t> counts() {
  const std::int64_t k = size();
  return {0, 1, k - 1, k, k + 1, 1000, 100003};
}

inline View piece(View whole, std::int64_t first, std::int64_t count) {
  return {static_cast<std::byte*>(whole.data) + first * kernels::bytes_of(whole.type), count, whole.type};
}

inline void complete(Ticket ticket) { group().wait(ticket); }

template <class T>
class Communicators : public ::testing::Test {};
using Types = ::testing::Types<float, double, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(Communicators, Types);

TYPED_TEST(Communicators, AllReduceSumsWhatEveryRankGave) {
  for (const auto count : counts()) {
    auto data = values<TypeParam>(rank(), count);
    complete(group().all_reduce(view(data), Reduce::sum, Traffic::control));
    std::vector<TypeParam> expected(data.size());
    for (std::int64_t i = 0; i < count; ++i)
      for (int r = 0; r < size(); ++r) expected[static_cast<std::size_t>(i)] += value<TypeParam>(r, i);
    EXPECT_EQ(data, expected) << "count " << count;
  }
}

TYPED_TEST(Communicators, AllReduceFindsTheMaximumWhereverItIs) {
  for (const auto count : counts()) {
    std::vector<TypeParam> data(static_cast<std::size_t>(count)), expected(data.size());
    for (std::int64_t i = 0; i < count; ++i) {
      data[static_cast<std::size_t>(i)] = static_cast<TypeParam>(i % size() == rank() ? -1 : -100 - rank());
      expected[static_cast<std::size_t>(i)] = -1;
    }
    complete(group().all_reduce(view(data), Reduce::maximum, Traffic::control));
    EXPECT_EQ(data, expected) << "count " << count;
  }
}

TYPED_TEST(Communicators, ReduceScatterGivesEachRankTheSumOfItsPiece) {
  for (const auto count : counts()) {  // of a piece
    auto in = values<TypeParam>(rank(), count * size());
    const auto before = in;
    std::vector<TypeParam> out(static_cast<std::size_t>(count)), expected(out.size());
    complete(group().reduce_scatter(view(in), view(out), Traffic::control));
    for (std::int64_t i = 0; i < count; ++i)
      for (int r = 0; r < size(); ++r) expected[static_cast<std::size_t>(i)] += value<TypeParam>(r, rank() * count + i);
    EXPECT_EQ(out, expected) << "count " << count;
    EXPECT_EQ(in, before);
  }
}

TYPED_TEST(Communicators, AllGatherConcatenatesInRankOrderAlsoInPlace) {
  for (const auto count : counts()) {  // of a piece
    std::vector<TypeParam> expected;
    for (int r = 0; r < size(); ++r)
      for (std::int64_t i = 0; i < count; ++i) expected.push_back(value<TypeParam>(r, i));
    auto in = values<TypeParam>(rank(), count);
    std::vector<TypeParam> out(expected.size()), in_place(expected.size());
    complete(group().all_gather(view(in), view(out), Traffic::control));
    EXPECT_EQ(out, expected) << "count " << count;
    std::copy(in.begin(), in.end(), in_place.begin() + rank() * count);
    complete(group().all_gather(piece(view(in_place), rank() * count, count), view(in_place), Traffic::control));
    EXPECT_EQ(in_place, expected) << "in place, count " << count;
  }
}

TYPED_TEST(Communicators, BroadcastFromEveryRoot) {
  for (const auto count : counts())
    for (int root = 0; root < size(); ++root) {
      auto data = values<TypeParam>(rank(), count);
      complete(group().broadcast(view(data), root, Traffic::control));
      EXPECT_EQ(data, values<TypeParam>(root, count)) << "count " << count << " root " << root;
    }
}

TYPED_TEST(Communicators, TransfersAroundTheRingInOneGroup) {
  if (size() == 1) return;  // nobody to send to
  const int next = (rank() + 1) % size(), last = (rank() + size() - 1) % size();
  for (const auto count : counts()) {
    auto mine = values<TypeParam>(rank(), count);
    std::vector<TypeParam> got(mine.size());
    group().begin_group();
    group().send(view(mine), next, Traffic::control);
    group().receive(view(got), last, Traffic::control);
    complete(group().end_group());
    EXPECT_EQ(got, values<TypeParam>(last, count)) << "count " << count;
  }
}

TEST(Order, SumsRunInRankOrder) {
  for (const auto count : counts()) {
    std::vector<float> data, expected;
    for (std::int64_t i = 0; i < count; ++i) {
      data.push_back(rounding_value(rank(), i));
      expected.push_back(sum_in_rank_order(i));
    }
    complete(group().all_reduce(view(data), Reduce::sum, Traffic::control));
    EXPECT_EQ(data, expected) << "count " << count;
  }
}

TEST(Order, ReductionsLongerThanTheScratchKeepTheOrder) {
  const std::int64_t count = 10'000'019;  // 40 MB: at least two rounds on 2 ranks, the last one short
  std::vector<float> data, mine(static_cast<std::size_t>(count / size()));
  std::vector<float> all(mine.size() * static_cast<std::size_t>(size()));
  for (std::int64_t i = 0; i < count; ++i) data.push_back(rounding_value(rank(), i));
  std::copy_n(data.begin(), all.size(), all.begin());
  complete(group().reduce_scatter(view(all), view(mine), Traffic::control));
  complete(group().all_reduce(view(data), Reduce::sum, Traffic::control));
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < count; ++i) wrong += data[static_cast<std::size_t>(i)] != sum_in_rank_order(i);
  EXPECT_EQ(wrong, 0);
  for (std::int64_t i = 0; i < std::ssize(mine); ++i)
    wrong += mine[static_cast<std::size_t>(i)] != sum_in_rank_order(rank() * std::ssize(mine) + i);
  EXPECT_EQ(wrong, 0);
}

TEST(Order, CallsRunInTheOrderTheyWereMadeAndMayBeAwaitedInAny) {
  constexpr int calls = 50;
  std::vector<std::vector<double>> data;
  std::vector<Ticket> tickets;
  for (int c = 0; c < calls; ++c) data.push_back({static_cast<double>(1000 * rank() + c)});
  std::vector<double> chained = {1};
  for (int c = 0; c < calls; ++c) {
    tickets.push_back(group().all_reduce(view(data[static_cast<std::size_t>(c)]), Reduce::sum, Traffic::control));
    if (c % 10 == 0) tickets.push_back(group().all_reduce(view(chained), Reduce::sum, Traffic::control));
  }
  for (std::size_t i = 0; i < tickets.size(); ++i)  // odd ranks from the back, even ones shuffled
    group().wait(tickets[rank() % 2 ? tickets.size() - 1 - i : i * 7 % tickets.size()]);
  for (int c = 0; c < calls; ++c)
    EXPECT_EQ(data[static_cast<std::size_t>(c)][0], 1000.0 * size() * (size() - 1) / 2 + size() * c) << c;
  EXPECT_EQ(chained[0], std::pow(size(), calls / 10));  // each call works on the result of the one before
}

TEST(Order, AGroupSendsWhatTheCollectiveBeforeItMade) {
  if (size() == 1) return;
  const int next = (rank() + 1) % size(), last = (rank() + size() - 1) % size();
  std::vector<float> sum = {static_cast<float>(rank())}, got = {0};
  group().all_reduce(view(sum), Reduce::sum, Traffic::control);
  group().begin_group();
  group().send(view(sum), next, Traffic::control);
  group().receive(view(got), last, Traffic::control);
  complete(group().end_group());
  EXPECT_EQ(got[0], static_cast<float>(size() * (size() - 1) / 2));
}

TEST(Order, AGroupDoesNotTakeAlongTheCallsBehindIt) {
  if (size() == 1) return;
  const int next = (rank() + 1) % size(), last = (rank() + size() - 1) % size();
  std::vector<float> large(100003, 1), passed = {static_cast<float>(rank())}, got = {-1}, again = {-1};
  group().all_reduce(view(large), Reduce::sum, Traffic::control);                // holds the queue up
  for (auto [from, to] : {std::pair{&passed, &got}, std::pair{&got, &again}}) {  // the second group sends what the first received
    group().begin_group();
    group().send(view(*from), next, Traffic::control);
    group().receive(view(*to), last, Traffic::control);
    group().end_group();
  }
  std::vector<float> sum = {1};
  complete(group().all_reduce(view(sum), Reduce::sum, Traffic::control));
  EXPECT_EQ(got[0], static_cast<float>(last));
  EXPECT_EQ(again[0], static_cast<float>((rank() + 2 * size() - 2) % size()));
  EXPECT_EQ(sum[0], static_cast<float>(size()));
}

TEST(Order, DeviceWorkGivenAfterOrderAfterSeesWhatTheCallMade) {
  const auto device = kernels::make_cpu_device();
  constexpr std::int64_t count = 100003;  // above the eager limit
  std::vector<double> data = values<double>(rank(), count), copy(data.size()), expected(data.size());
  for (int r = 0; r < size(); ++r)
    for (std::int64_t i = 0; i < count; ++i) expected[static_cast<std::size_t>(i)] += value<double>(r, i);
  const Ticket sum = group().all_reduce(view(data), Reduce::sum, Traffic::control);
  group().order_after(sum);
  device->copy(view(copy), view(data));
  device->synchronize();
  EXPECT_EQ(copy, expected);
  group().order_after(sum);  // once more, and of a call done from the start: nothing
  group().order_after({});
  EXPECT_TRUE(group().done(sum));
}

TEST(Groups, MessagesBetweenTwoMembersMatchInOrderBothWaysAboveTheEagerLimit) {
  const int peer = rank() ^ 1;
  if (peer >= size()) return;              // the odd one out
  constexpr std::int64_t count = 1 << 18;  // 1 MiB
  std::vector<std::vector<float>> out, in(6, std::vector<float>(count));
  for (int i = 0; i < 6; ++i) out.push_back(values<float>(10 * rank() + i, count));
  std::vector<Ticket> tickets;
  for (std::size_t g = 0; g < 3; ++g) {  // two transfers each way in each of three groups
    group().begin_group();
    for (std::size_t i = 2 * g; i < 2 * g + 2; ++i) {
      group().send(view(out[i]), peer, Traffic::control);
      group().receive(view(in[i]), peer, Traffic::control);
    }
    tickets.push_back(group().end_group());
  }
  complete(tickets.back());
  EXPECT_TRUE(group().done(tickets.front()));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(in[static_cast<std::size_t>(i)], values<float>(10 * peer + i, count)) << i;
}

TEST(Groups, MembersOutsideAGroupNeedNotCallAndCollectivesStillMatch) {
  if (size() < 3) return;
  std::vector<float> data = {static_cast<float>(rank())};
  if (rank() < 2) {
    group().begin_group();
    rank() == 0 ? group().send(view(data), 1, Traffic::control) : group().receive(view(data), 0, Traffic::control);
    group().end_group();
  }
  complete(group().all_reduce(view(data), Reduce::sum, Traffic::control));
  EXPECT_EQ(data[0], static_cast<float>(size() * (size() - 1) / 2 - 1));  // rank 1 holds rank 0's value
}

TEST(Groups, AnOpenGroupIsNotStartedByOtherWaits) {
  if (size() == 1) return;
  const int next = (rank() + 1) % size(), last = (rank() + size() - 1) % size();
  std::vector<float> mine = {-1}, got = {0};
  const Ticket earlier = group().broadcast(view(got), 0, Traffic::control);
  group().begin_group();
  group().send(view(mine), next, Traffic::control);
  complete(earlier);
  world().progress().poll();
  mine[0] = static_cast<float>(rank());  // still ours
  group().receive(view(got), last, Traffic::control);
  complete(group().end_group());
  EXPECT_EQ(got[0], static_cast<float>(last));
}

/// Bytes, calls of `kind` that `work` adds on this rank.
inline grid::TrafficCount counted(Traffic kind, const std::function<void()>& work) {
  const grid::TrafficCount before = world().traffic()[kind];
  work();
  const grid::TrafficCount after = world().traffic()[kind];
  return {after.calls - before.calls, after.bytes - before.bytes};
}

TEST(Counts, BytesAreThoseOfTheFormulas) {
  const std::int64_t k = size(), n = 840 * 4;  // bytes; 840 is divisible by all sizes up to 8
  std::vector<float> full(840), part(static_cast<std::size_t>(840 / k));
  // all-reduce 2 n (k-1)/k, reduce-scatter and all-gather n (k-1)/k
  const auto all_reduce =
      counted(Traffic::tp_all_reduce, [&] { complete(group().all_reduce(view(full), Reduce::sum, Traffic::tp_all_reduce)); });
  const auto reduce_scatter = counted(
      Traffic::dp_reduce_scatter, [&] { complete(group().reduce_scatter(view(full), view(part), Traffic::dp_reduce_scatter)); });
  const auto all_gather =
      counted(Traffic::dp_all_gather, [&] { complete(group().all_gather(view(part), view(full), Traffic::dp_all_gather)); });
  EXPECT_EQ(all_reduce.bytes, 2 * n * (k - 1) / k);
  EXPECT_EQ(reduce_scatter.bytes, n * (k - 1) / k);
  EXPECT_EQ(all_gather.bytes, n * (k - 1) / k);
  for (const auto& count : {all_reduce, reduce_scatter, all_gather}) EXPECT_EQ(count.calls, k > 1 ? 1 : 0);
  if (rank() < 2 && k > 1) {
    const auto sent = counted(Traffic::pp_activation, [&] {
      group().begin_group();
      if (rank() == 0) group().send(view(full), 1, Traffic::pp_activation);
      if (rank() == 1) group().receive(view(full), 0, Traffic::pp_activation);
      complete(group().end_group());
    });
    EXPECT_EQ(sent.bytes, rank() == 0 ? n : 0);
    EXPECT_EQ(sent.calls, 1);
  }
}

TEST(Faults, WrongCallsAreRefusedBeforeAnythingIsSent) {
  std::vector<float> three(3), four(4);
  EXPECT_THROW(group().end_group(), std::logic_error);
  EXPECT_THROW(group().send(view(three), 0, Traffic::control), std::logic_error);
  EXPECT_THROW(group().all_gather(view(three), view(four), Traffic::control), std::logic_error);
  EXPECT_THROW(group().reduce_scatter(view(three), view(four), Traffic::control), std::logic_error);
  EXPECT_THROW(group().broadcast(view(three), size(), Traffic::control), std::logic_error);
  EXPECT_THROW(group().wait({1u << 30}), std::logic_error);
  group().begin_group();
  EXPECT_THROW(group().begin_group(), std::logic_error);
  EXPECT_THROW(group().all_reduce(view(three), Reduce::sum, Traffic::control), std::logic_error);
  EXPECT_THROW(group().send(view(three), rank(), Traffic::control), std::logic_error);
  EXPECT_TRUE(group().done(group().end_group()));  // an empty group is done at once
}

}  // namespace trireme::test
