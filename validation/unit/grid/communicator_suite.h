// What every Communicator promises, tested on all ranks of the world, for each Form that a program names by
// TRIREME_COMMUNICATORS. Oracle: the values each rank contributes are functions of (rank, index), so that each test computes what
// must arrive by itself.
#pragma once

#include <cmath>
#include <utility>

#include "validation/unit/grid/communicator_sums.h"

namespace trireme::test {

class CommunicatorCalls : public Communicators {};

TEST_P(CommunicatorCalls, AllReduceSumsWhatEveryRankGave) {
  for_each_type([&](auto zero) {
    using T = decltype(zero);
    for (const auto count : counts()) {
      Array<T> data(device(), values<T>(rank(), count));
      complete(group().all_reduce(data.view(), Reduce::sum, Traffic::control));
      EXPECT_EQ(data.numbers(), sums<T>(size(), count)) << "count " << count;
    }
  });
}

TEST_P(CommunicatorCalls, AllReduceFindsTheMaximumWhereverItIs) {
  for_each_type([&](auto zero) {
    using T = decltype(zero);
    for (const auto count : counts()) {
      std::vector<T> mine;
      for (std::int64_t i = 0; i < count; ++i) mine.push_back(T(i % size() == rank() ? -1 : -100 - rank()));
      Array<T> data(device(), mine);
      complete(group().all_reduce(data.view(), Reduce::maximum, Traffic::control));
      EXPECT_EQ(data.numbers(), std::vector<T>(mine.size(), T(-1))) << "count " << count;
    }
  });
}

TEST_P(CommunicatorCalls, ReduceScatterGivesEachRankTheSumOfItsPiece) {
  for_each_type([&](auto zero) {
    using T = decltype(zero);
    for (const auto count : counts()) {  // of a piece
      const auto before = values<T>(rank(), count * size());
      Array<T> in(device(), before), out(device(), count);
      complete(group().reduce_scatter(in.view(), out.view(), Traffic::control));
      EXPECT_EQ(out.numbers(), sums<T>(size(), count, rank() * count)) << "count " << count;
      EXPECT_EQ(in.numbers(), before);
    }
  });
}

TEST_P(CommunicatorCalls, AllGatherConcatenatesInRankOrderAlsoInPlace) {
  for_each_type([&](auto zero) {
    using T = decltype(zero);
    for (const auto count : counts()) {  // of a piece
      std::vector<T> expected, prepared(static_cast<std::size_t>(count * size()));
      for (int r = 0; r < size(); ++r)
        for (const T& x : values<T>(r, count)) expected.push_back(x);
      const auto mine = values<T>(rank(), count);
      std::copy(mine.begin(), mine.end(), prepared.begin() + rank() * count);
      Array<T> in(device(), mine), out(device(), count * size()), in_place(device(), prepared);
      group().all_gather(in.view(), out.view(), Traffic::control);
      complete(group().all_gather(in_place.slice(rank() * count, count), in_place.view(), Traffic::control));
      EXPECT_EQ(out.numbers(), expected) << "count " << count;
      EXPECT_EQ(in_place.numbers(), expected) << "in place, count " << count;
    }
  });
}

TEST_P(CommunicatorCalls, BroadcastFromEveryRoot) {
  for_each_type([&](auto zero) {
    using T = decltype(zero);
    for (const std::int64_t count : {std::int64_t{0}, std::int64_t{5}, GetParam().most})
      for (int root = 0; root < size(); ++root) {
        Array<T> data(device(), values<T>(rank(), count));
        complete(group().broadcast(data.view(), root, Traffic::control));
        EXPECT_EQ(data.numbers(), values<T>(root, count)) << "count " << count << " root " << root;
      }
  });
}

TEST_P(CommunicatorCalls, TransfersAroundTheRingInOneGroup) {
  if (size() == 1) return;  // nobody to send to
  for_each_type([&](auto zero) {
    using T = decltype(zero);
    for (const auto count : counts()) {
      Array<T> mine(device(), values<T>(rank(), count)), got(device(), count);
      group().begin_group();
      group().send(mine.view(), next(), Traffic::control);
      group().receive(got.view(), last(), Traffic::control);
      complete(group().end_group());
      EXPECT_EQ(got.numbers(), values<T>(last(), count)) << "count " << count;
    }
  });
}

class CommunicatorOrder : public Communicators {};

TEST_P(CommunicatorOrder, CallsRunInTheOrderTheyWereMadeAndMayBeAwaitedInAny) {
  constexpr int calls = 50;
  std::vector<double> mine;
  for (int c = 0; c < calls; ++c) mine.push_back(1000 * rank() + c);
  Array<double> data(device(), mine), chained(device(), std::vector<double>{1});
  std::vector<Ticket> tickets;
  for (int c = 0; c < calls; ++c) {
    tickets.push_back(group().all_reduce(data.slice(c, 1), Reduce::sum, Traffic::control));
    if (c % 10 == 0) tickets.push_back(group().all_reduce(chained.view(), Reduce::sum, Traffic::control));
  }
  for (std::size_t i = 0; i < tickets.size(); ++i)  // odd ranks from the back, even ones shuffled
    group().wait(tickets[rank() % 2 ? tickets.size() - 1 - i : i * 7 % tickets.size()]);
  const std::vector<double> got = data.numbers();
  for (int c = 0; c < calls; ++c)
    EXPECT_EQ(got[static_cast<std::size_t>(c)], 1000.0 * size() * (size() - 1) / 2 + size() * c) << c;
  EXPECT_EQ(chained.numbers()[0], std::pow(size(), calls / 10));  // each call works on the result of the one before
}

TEST_P(CommunicatorOrder, AGroupSendsWhatTheCollectiveBeforeItMade) {
  if (size() == 1) return;
  Array<float> sum(device(), std::vector{static_cast<float>(rank())}), got(device(), 1);
  group().all_reduce(sum.view(), Reduce::sum, Traffic::control);
  group().begin_group();
  group().send(sum.view(), next(), Traffic::control);
  group().receive(got.view(), last(), Traffic::control);
  complete(group().end_group());
  EXPECT_EQ(got.numbers()[0], static_cast<float>(size() * (size() - 1) / 2));
}

TEST_P(CommunicatorOrder, AGroupDoesNotTakeAlongTheCallsBehindIt) {
  if (size() == 1) return;
  Array<float> large(device(), std::vector<float>(static_cast<std::size_t>(GetParam().most), 1)),
      passed(device(), std::vector{static_cast<float>(rank())});
  Array<float> got(device(), 1), again(device(), 1), sum(device(), std::vector<float>{1});
  group().all_reduce(large.view(), Reduce::sum, Traffic::control);               // holds the queue up
  for (auto [from, to] : {std::pair{&passed, &got}, std::pair{&got, &again}}) {  // the second group sends what the first received
    group().begin_group();
    group().send(from->view(), next(), Traffic::control);
    group().receive(to->view(), last(), Traffic::control);
    group().end_group();
  }
  complete(group().all_reduce(sum.view(), Reduce::sum, Traffic::control));
  EXPECT_EQ(got.numbers()[0], static_cast<float>(last()));
  EXPECT_EQ(again.numbers()[0], static_cast<float>((rank() + 2 * size() - 2) % size()));
  EXPECT_EQ(sum.numbers()[0], static_cast<float>(size()));
}

TEST_P(CommunicatorOrder, DeviceWorkGivenAfterOrderAfterSeesWhatTheCallMade) {
  const std::int64_t count = GetParam().most;
  Array<double> data(device(), values<double>(rank(), count)), copy(device(), count);
  const Ticket sum = group().all_reduce(data.view(), Reduce::sum, Traffic::control);
  group().order_after(sum);
  device().copy(copy.view(), data.view());
  EXPECT_EQ(copy.numbers(), sums<double>(size(), count));
  group().order_after(sum);  // once more, and of a call done from the start: nothing
  group().order_after({});
  group().wait(sum);
  EXPECT_TRUE(group().done(sum));
}

TEST_P(CommunicatorOrder, ACallSeesTheDeviceWorkGivenBeforeIt) {
  for (int round = 0; round < 5; ++round) {
    Array<float> data(device(), 1000), made(device(), values<float>(rank(), 1000));
    complete(group().all_reduce(data.view(), Reduce::sum, Traffic::control));
    device().copy(data.view(), made.view());
    complete(group().all_reduce(data.view(), Reduce::sum, Traffic::control));
    EXPECT_EQ(data.numbers(), sums<float>(size(), 1000)) << round;
  }
}

TEST_P(CommunicatorOrder, WhatIsDoneIsThere) {
  Array<float> data(device(), values<float>(rank(), 1000));
  const Ticket sum = group().all_reduce(data.view(), Reduce::sum, Traffic::control);
  while (!group().done(sum)) world().progress().poll();
  EXPECT_EQ(data.numbers(), sums<float>(size(), 1000));
}

TEST_P(CommunicatorOrder, TwoCommunicatorsAreAwaitedInEitherOrder) {
  std::vector<Ticket> first, second;
  Array<float> here(device(), values<float>(rank(), 10)), there(device(), values<float>(rank(), 10));
  for (std::int64_t i = 0; i < 10; ++i) {
    first.push_back(group().all_reduce(here.slice(i, 1), Reduce::sum, Traffic::control));
    second.push_back(another().all_reduce(there.slice(i, 1), Reduce::sum, Traffic::control));
  }
  if (rank() % 2) group().wait(first.back());
  another().wait(second.back());
  group().wait(first.back());
  EXPECT_EQ(here.numbers(), sums<float>(size(), 10));
  EXPECT_EQ(there.numbers(), sums<float>(size(), 10));
}

class CommunicatorGroups : public Communicators {};

TEST_P(CommunicatorGroups, MessagesBetweenTwoMembersMatchInOrderBothWaysAboveTheEagerLimit) {
  const int peer = rank() ^ 1;
  if (peer >= size()) return;              // the odd one out
  constexpr std::int64_t count = 1 << 18;  // 1 MiB
  std::vector<float> mine;
  for (int i = 0; i < 6; ++i)
    for (const float x : values<float>(10 * rank() + i, count)) mine.push_back(x);
  Array<float> out(device(), mine), in(device(), 6 * count);
  std::vector<Ticket> tickets;
  for (int g = 0; g < 3; ++g) {  // two transfers each way in each of three groups
    group().begin_group();
    for (int i = 2 * g; i < 2 * g + 2; ++i) {
      group().send(out.slice(i * count, count), peer, Traffic::control);
      group().receive(in.slice(i * count, count), peer, Traffic::control);
    }
    tickets.push_back(group().end_group());
  }
  complete(tickets.back());
  EXPECT_TRUE(group().done(tickets.front()));
  const std::vector<float> got = in.numbers();
  for (int i = 0; i < 6; ++i)
    EXPECT_TRUE(std::equal(got.begin() + i * count, got.begin() + (i + 1) * count, values<float>(10 * peer + i, count).begin()))
        << i;
}

TEST_P(CommunicatorGroups, MembersOutsideAGroupNeedNotCallAndCollectivesStillMatch) {
  if (size() < 3) return;
  Array<float> data(device(), std::vector{static_cast<float>(rank())});
  if (rank() < 2) {
    group().begin_group();
    rank() == 0 ? group().send(data.view(), 1, Traffic::control) : group().receive(data.view(), 0, Traffic::control);
    group().end_group();
  }
  complete(group().all_reduce(data.view(), Reduce::sum, Traffic::control));
  EXPECT_EQ(data.numbers()[0], static_cast<float>(size() * (size() - 1) / 2 - 1));  // rank 1 holds rank 0's value
}

TEST_P(CommunicatorGroups, AnOpenGroupIsNotStartedByOtherWaits) {
  if (size() == 1) return;
  Array<float> mine(device(), std::vector<float>{-1}), got(device(), 1);
  const Ticket earlier = group().broadcast(got.view(), 0, Traffic::control);
  group().begin_group();
  group().send(mine.view(), next(), Traffic::control);
  complete(earlier);
  world().progress().poll();
  mine.set({static_cast<float>(rank())});  // still ours
  group().receive(got.view(), last(), Traffic::control);
  complete(group().end_group());
  EXPECT_EQ(got.numbers()[0], static_cast<float>(last()));
}

class CommunicatorCounts : public Communicators {};

TEST_P(CommunicatorCounts, BytesAreThoseOfTheFormulas) {
  const std::int64_t k = size(), n = 840 * 4;  // bytes; 840 is divisible by all sizes up to 8
  Array<float> full(device(), 840), part(device(), 840 / k);
  // all-reduce 2 n (k-1)/k, reduce-scatter and all-gather n (k-1)/k
  const auto all_reduce =
      counted(Traffic::tp_all_reduce, [&] { complete(group().all_reduce(full.view(), Reduce::sum, Traffic::tp_all_reduce)); });
  const auto reduce_scatter = counted(Traffic::dp_reduce_scatter, [&] {
    complete(group().reduce_scatter(full.view(), part.view(), Traffic::dp_reduce_scatter));
  });
  const auto all_gather =
      counted(Traffic::dp_all_gather, [&] { complete(group().all_gather(part.view(), full.view(), Traffic::dp_all_gather)); });
  EXPECT_EQ(all_reduce.bytes, 2 * n * (k - 1) / k);
  EXPECT_EQ(reduce_scatter.bytes, n * (k - 1) / k);
  EXPECT_EQ(all_gather.bytes, n * (k - 1) / k);
  for (const auto& count : {all_reduce, reduce_scatter, all_gather}) EXPECT_EQ(count.calls, k > 1 ? 1 : 0);
  if (rank() < 2 && k > 1) {
    const auto sent = counted(Traffic::pp_activation, [&] {
      group().begin_group();
      if (rank() == 0) group().send(full.view(), 1, Traffic::pp_activation);
      if (rank() == 1) group().receive(full.view(), 0, Traffic::pp_activation);
      complete(group().end_group());
    });
    EXPECT_EQ(sent.bytes, rank() == 0 ? n : 0);
    EXPECT_EQ(sent.calls, 1);
  }
}

class CommunicatorFaults : public Communicators {};

TEST_P(CommunicatorFaults, WrongCallsAreRefusedBeforeAnythingIsSent) {
  Array<float> three(device(), 3), four(device(), 4);
  EXPECT_THROW(group().end_group(), std::logic_error);
  EXPECT_THROW(group().send(three.view(), 0, Traffic::control), std::logic_error);
  EXPECT_THROW(group().all_gather(three.view(), four.view(), Traffic::control), std::logic_error);
  EXPECT_THROW(group().reduce_scatter(three.view(), four.view(), Traffic::control), std::logic_error);
  EXPECT_THROW(group().broadcast(three.view(), size(), Traffic::control), std::logic_error);
  EXPECT_THROW(group().wait({1u << 30}), std::logic_error);
  group().begin_group();
  EXPECT_THROW(group().begin_group(), std::logic_error);
  EXPECT_THROW(group().all_reduce(three.view(), Reduce::sum, Traffic::control), std::logic_error);
  EXPECT_THROW(group().send(three.view(), rank(), Traffic::control), std::logic_error);
  EXPECT_TRUE(group().done(group().end_group()));  // an empty group is done at once
}

TEST_P(CommunicatorFaults, ATicketOfAnotherCommunicatorIsRefused) {
  if (size() == 1) return;  // nothing is ever under way
  Array<float> data(device(), 3);
  const Ticket ticket = another().all_reduce(data.view(), Reduce::sum, Traffic::control);
  EXPECT_THROW(group().wait(ticket), std::logic_error);
  EXPECT_THROW(group().order_after(ticket), std::logic_error);
  EXPECT_THROW(group().done(ticket), std::logic_error);
  another().wait(ticket);
}

/// Runs all of it on these forms.
#define TRIREME_COMMUNICATORS(...)                                                                     \
  namespace trireme::test {                                                                            \
  inline std::string form_name(const ::testing::TestParamInfo<Form>& info) { return info.param.name; } \
  INSTANTIATE_TEST_SUITE_P(Of, CommunicatorCalls, ::testing::ValuesIn(__VA_ARGS__), form_name);        \
  INSTANTIATE_TEST_SUITE_P(Of, CommunicatorSums, ::testing::ValuesIn(__VA_ARGS__), form_name);         \
  INSTANTIATE_TEST_SUITE_P(Of, CommunicatorOrder, ::testing::ValuesIn(__VA_ARGS__), form_name);        \
  INSTANTIATE_TEST_SUITE_P(Of, CommunicatorGroups, ::testing::ValuesIn(__VA_ARGS__), form_name);       \
  INSTANTIATE_TEST_SUITE_P(Of, CommunicatorCounts, ::testing::ValuesIn(__VA_ARGS__), form_name);       \
  INSTANTIATE_TEST_SUITE_P(Of, CommunicatorFaults, ::testing::ValuesIn(__VA_ARGS__), form_name);       \
  }

}  // namespace trireme::test
