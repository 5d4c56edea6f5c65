// The process grid and the world, tested over every (t, d, p) that the ranks can form. Oracle: three nested loops, tensor
// innermost, number the ranks; a group is the list of ranks that agree in the other coordinates. Comparisons are exact.
#pragma once

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "grid/cores.h"
#include "grid/grid.h"
#include "grid/topology.h"
#include "validation/unit/support/mpi_main.h"
#include "validation/unit/support/views.h"

namespace trireme::test {

using grid::ChannelSpec;
using grid::Communicator;
using grid::Coordinates;
using grid::Grid;
using grid::Reduce;
using grid::Shape;
using grid::Ticket;
using grid::Traffic;

inline std::vector<Shape> all_shapes() {
  std::vector<Shape> shapes;
  const int n = world().size();
  for (int t = 1; t <= n; ++t)
    for (int d = 1; d <= n; ++d)
      for (int p = 1; p <= n; ++p)
        if (t * d * p == n) shapes.push_back({t, d, p});
  return shapes;
}

inline std::vector<Coordinates> table(const Shape& shape) {
  std::vector<Coordinates> ranks;
  for (int p = 0; p < shape.pipeline; ++p)
    for (int d = 0; d < shape.data; ++d)
      for (int t = 0; t < shape.tensor; ++t) ranks.push_back({t, d, p});
  return ranks;
}

template <class Belongs>
std::vector<std::int64_t> ranks_where(const Shape& shape, Belongs belongs) {
  std::vector<std::int64_t> ranks;
  const auto all = table(shape);
  for (std::size_t r = 0; r < all.size(); ++r)
    if (belongs(all[r])) ranks.push_back(static_cast<std::int64_t>(r));
  return ranks;
}

/// Both directions between neighbours, each twice (as activations and gradients use them), and around the end.
inline std::vector<ChannelSpec> channels_of(int p) {
  std::vector<ChannelSpec> channels;
  for (int twice = 0; twice < 2; ++twice)
    for (int stage = 0; stage + 1 < p; ++stage) {
      channels.push_back({stage, stage + 1});
      channels.push_back({stage + 1, stage});
    }
  if (p > 2) channels.push_back({p - 1, 0});
  return channels;
}

inline std::string describe(const Shape& s) {
  return "t " + std::to_string(s.tensor) + " d " + std::to_string(s.data) + " p " + std::to_string(s.pipeline);
}

/// `group` has these world ranks in this order, and its calls reach all of them and nobody else.
inline void expect_group(Communicator& group, const std::vector<std::int64_t>& members, const std::string& name) {
  ASSERT_EQ(group.size(), std::ssize(members)) << name;
  ASSERT_EQ(members[static_cast<std::size_t>(group.rank())], world().rank()) << name;
  std::int64_t mine = world().rank();
  std::vector<std::int64_t> gathered(members.size());
  group.wait(group.all_gather(view(mine), view(gathered), Traffic::control));
  EXPECT_EQ(gathered, members) << name;
  constexpr std::int64_t count = 1001;
  std::vector<float> sum(count), expected(count);
  for (std::size_t i = 0; i < count; ++i) {
    sum[i] = static_cast<float>(1000 * mine + static_cast<std::int64_t>(i));
    for (const auto member : members) expected[i] += static_cast<float>(1000 * member + static_cast<std::int64_t>(i));
  }
  group.wait(group.all_reduce(view(sum), Reduce::sum, Traffic::control));
  EXPECT_EQ(sum, expected) << name;
}

TEST(Grid, EveryGroupOfEveryShapeHasItsMembersInOrder) {
  for (const Shape& shape : all_shapes()) {
    SCOPED_TRACE(describe(shape));
    const auto channels = channels_of(shape.pipeline);
    Grid grid(world(), shape, channels);
    const Coordinates at = table(shape)[static_cast<std::size_t>(world().rank())];
    ASSERT_EQ(grid.at(), at);
    ASSERT_EQ(grid::rank_of(shape, at), world().rank());
    const int last = shape.pipeline - 1;
    const auto with = [&](auto belongs) { return ranks_where(shape, belongs); };
    const auto same_pipeline = [&](const Coordinates& c) { return c.tensor == at.tensor && c.data == at.data; };
    expect_group(grid.tensor(), with([&](auto c) { return c.data == at.data && c.pipeline == at.pipeline; }), "tensor");
    expect_group(grid.data(), with([&](auto c) { return c.tensor == at.tensor && c.pipeline == at.pipeline; }), "data");
    expect_group(grid.pipeline(), with(same_pipeline), "pipeline");
    expect_group(grid.model(), with([&](auto c) { return c.data == at.data; }), "model");
    const bool has_tied = last > 0 && (at.pipeline == 0 || at.pipeline == last);
    ASSERT_EQ(grid.has_tied(), has_tied);
    if (has_tied)
      expect_group(grid.tied(), with([&](auto c) { return same_pipeline(c) && (c.pipeline == 0 || c.pipeline == last); }),
                   "tied");
    else
      EXPECT_THROW(grid.tied(), std::logic_error);
    for (std::size_t i = 0; i < channels.size(); ++i) {
      const auto [sender, receiver] = channels[i];
      if (at.pipeline != sender && at.pipeline != receiver) {
        EXPECT_THROW(grid.channel(i), std::logic_error);
        continue;
      }
      auto members = with([&, s = sender](auto c) { return same_pipeline(c) && c.pipeline == s; });
      members.push_back(with([&, r = receiver](auto c) { return same_pipeline(c) && c.pipeline == r; }).front());
      expect_group(grid.channel(i), members, "channel " + std::to_string(i));
    }
  }
}

TEST(Grid, GroupsOfOneMakeNoCalls) {
  const Shape shape{world().size(), 1, 1};
  Grid grid(world(), shape, {});
  const auto before = world().traffic();
  std::vector<double> value = {3};
  grid.data().wait(grid.data().all_reduce(view(value), Reduce::sum, Traffic::dp_all_reduce));
  grid.pipeline().wait(grid.pipeline().broadcast(view(value), 0, Traffic::control));
  EXPECT_EQ(value[0], 3);
  for (std::size_t k = 0; k < before.kinds.size(); ++k) EXPECT_EQ(world().traffic().kinds[k].calls, before.kinds[k].calls);
}

TEST(Grid, FaultyShapesAndChannelsAreRefusedOnEveryRank) {
  const int n = world().size();
  EXPECT_THROW(Grid(world(), {n, 2, 1}, {}), std::logic_error);
  for (const ChannelSpec faulty : {ChannelSpec{0, 0}, ChannelSpec{0, n}, ChannelSpec{-1, 0}})
    EXPECT_THROW(Grid(world(), {1, 1, n}, {faulty}), std::logic_error);
}

TEST(Progress, CommunicatorsAdvanceWhileARankWaitsForAnotherOne) {
  // Even ranks call and await the first communicator, then the second; odd ranks the other way round. With messages above the
  // eager limit nobody gets on unless the waiting rank also serves the communicator it is not waiting for.
  const Shape one_group{world().size(), 1, 1};
  Grid first(world(), one_group, {}), second(world(), one_group, {});
  const int n = world().size();
  for (int round = 0; round < 20; ++round) {
    std::vector<float> a(1 << 18, 1.0f), b(1 << 18, 2.0f);
    Ticket of_a, of_b;
    if (world().rank() % 2 == 0) {
      of_a = first.tensor().all_reduce(view(a), Reduce::sum, Traffic::control);
      of_b = second.tensor().all_reduce(view(b), Reduce::sum, Traffic::control);
      first.tensor().wait(of_a);
      second.tensor().wait(of_b);
    } else {
      of_b = second.tensor().all_reduce(view(b), Reduce::sum, Traffic::control);
      of_a = first.tensor().all_reduce(view(a), Reduce::sum, Traffic::control);
      second.tensor().wait(of_b);
      first.tensor().wait(of_a);
    }
    ASSERT_EQ(std::accumulate(a.begin(), a.end(), 0.0), static_cast<double>(n) * (1 << 18));
    ASSERT_EQ(std::accumulate(b.begin(), b.end(), 0.0), 2.0 * n * (1 << 18));
  }
}

TEST(Progress, APipelinePassesMessagesBothWaysWhileAReductionIsInFlight) {
  const int p = world().size(), stage = world().rank();
  Grid grid(world(), {1, 1, p}, channels_of(p));
  constexpr std::int64_t count = 1 << 18;
  std::vector<double> background(100003, stage);
  Communicator& everyone = world().everyone().group();
  const Ticket reduction = everyone.all_reduce(view(background), Reduce::sum, Traffic::control);
  for (int microbatch = 0; microbatch < 3; ++microbatch) {
    std::vector<float> forward(count, static_cast<float>(10 * microbatch + stage)), backward = forward, up(count), down(count);
    std::vector<std::pair<std::size_t, Ticket>> tickets;
    for (std::size_t i = 0; i < static_cast<std::size_t>(2 * (p - 1)); ++i) {  // channels 2 s and 2 s + 1 join stages s and s + 1
      const int low = static_cast<int>(i / 2);
      if (stage != low && stage != low + 1) continue;
      Communicator& channel = grid.channel(i);
      channel.begin_group();
      if (channel.rank() == 0)
        channel.send(view(i % 2 ? backward : forward), 1, Traffic::pp_activation);
      else
        channel.receive(view(i % 2 ? up : down), 0, Traffic::pp_activation);
      tickets.emplace_back(i, channel.end_group());
    }
    for (auto it = tickets.rbegin(); it != tickets.rend(); ++it) grid.channel(it->first).wait(it->second);
    const auto from = [&](int s) {
      return std::vector<float>(count, s < 0 || s == p ? 0.0f : static_cast<float>(10 * microbatch + s));
    };
    EXPECT_EQ(down, from(stage - 1));
    EXPECT_EQ(up, from(stage + 1));
  }
  everyone.wait(reduction);
  EXPECT_EQ(background, std::vector<double>(100003, p * (p - 1) / 2.0));
}

/// Status that agree() threw, or nothing, and what this rank printed.
inline std::pair<std::optional<base::Exit>, std::string> agreed(const std::function<void()>& work) {
  std::optional<base::Exit> status;
  testing::internal::CaptureStderr();
  try {
    world().agree(work);
  } catch (const grid::Agreed& thrown) {
    status = thrown.status;
  }
  return {status, testing::internal::GetCapturedStderr()};
}

TEST(Agreement, AnErrorOnSomeRanksIsEverybodysAndPrintedOnce) {
  const int n = world().size(), rank = world().rank();
  for (int failing = 0; failing < n; ++failing) {  // this rank and all above it fail, each with a status of its own
    const auto [status, printed] = agreed([&] {
      if (rank == failing) base::refuse("input.toml:{}: wrong", failing);
      if (rank > failing) throw std::runtime_error("a later one");
    });
    ASSERT_TRUE(status.has_value());
    EXPECT_EQ(*status, base::Exit::bad_input);
    EXPECT_EQ(printed, rank == failing ? "input.toml:" + std::to_string(failing) + ": wrong\n" : "");
  }
  const auto [status, printed] = agreed([&] {
    if (rank == n - 1) throw std::runtime_error("disk on fire");
  });
  EXPECT_EQ(status, base::Exit::failure);
  EXPECT_EQ(printed.find("disk on fire") != std::string::npos, rank == n - 1);
}

TEST(Agreement, NothingHappensWhenAllWentWellAndAnAgreedErrorPassesThrough) {
  EXPECT_EQ(agreed([] {}).first, std::nullopt);
  const auto [status, printed] = agreed([] { world().agree([] { throw base::Error(base::Exit::not_finite, "loss is nan"); }); });
  EXPECT_EQ(status, base::Exit::not_finite);
  EXPECT_EQ(printed, world().rank() == 0 ? "loss is nan\n" : "");
}

TEST(Control, CollectivesOverHostNumbers) {
  const int n = world().size(), rank = world().rank();
  grid::Control& all = world().everyone();
  std::vector<double> sums = {1e17 + rank, 1.0 * rank};  // the first rounds: in rank order
  double expected = 1e17;
  for (int r = 1; r < n; ++r) expected += 1e17 + r;
  all.all_reduce(sums, Reduce::sum);
  EXPECT_EQ(sums, (std::vector<double>{expected, n * (n - 1) / 2.0}));
  std::int64_t largest = 100 - rank;
  all.all_reduce(largest, Reduce::maximum);
  EXPECT_EQ(largest, 100);
  EXPECT_EQ(all.largest(rank - 5.0), n - 6.0);
  EXPECT_EQ(all.sum(0.5), 0.5 * n);
  std::vector<std::int64_t> own = {rank, -rank}, gathered(2 * static_cast<std::size_t>(n));
  all.all_gather(own, gathered);
  for (int r = 0; r < n; ++r) EXPECT_EQ((std::vector{gathered[2 * r], gathered[2 * r + 1]}), (std::vector<std::int64_t>{r, -r}));
  std::vector<float> told = {static_cast<float>(rank), 7};
  all.broadcast(told, n - 1);
  EXPECT_EQ(told, (std::vector<float>{static_cast<float>(n - 1), 7}));
}

TEST(Control, NumbersGoFromOneMemberToAnotherAndAreCountedAsControl) {
  const int n = world().size(), rank = world().rank();
  grid::Control& all = world().everyone();
  const grid::TrafficTable before = world().traffic();
  std::vector<std::int32_t> numbers = {rank, 3, 4};
  if (rank == n - 1) all.send(numbers, 0);
  if (rank == 0) all.receive(numbers, n - 1);
  EXPECT_EQ(numbers[0], rank == 0 ? n - 1 : rank);
  const bool took_part = rank == 0 || rank == n - 1;
  EXPECT_EQ(world().traffic()[Traffic::control].calls - before[Traffic::control].calls, took_part ? 1 : 0);
  EXPECT_EQ(world().traffic()[Traffic::control].bytes - before[Traffic::control].bytes, rank == n - 1 ? 12 : 0);
}

TEST(World, TextsAreBroadcastAndGatheredInRankOrder) {
  const int n = world().size(), rank = world().rank();
  for (int root = 0; root < n; ++root) {
    std::string text =
        rank == root ? std::string("from\0", 5) + std::string(static_cast<std::size_t>(root) * 1000, 'x') : "old text";
    world().everyone().broadcast(text, root);
    EXPECT_EQ(text, std::string("from\0", 5) + std::string(static_cast<std::size_t>(root) * 1000, 'x'));
  }
  const auto texts = world().everyone().gather(std::string(static_cast<std::size_t>(rank), 'a'));  // empty on rank 0
  ASSERT_EQ(std::ssize(texts), rank == 0 ? n : 0);
  for (std::size_t r = 0; r < texts.size(); ++r) EXPECT_EQ(texts[r], std::string(r, 'a'));
}

TEST(World, KnowsItsNode) {
  EXPECT_EQ(world().node(), 0);  // the tests run on one machine
  EXPECT_EQ(world().node_size(), world().size());
  EXPECT_EQ(world().node_rank(), world().rank());
}

TEST(Topology, Rank0GetsEveryRanksPlace) {
  const Shape shape{world().size(), 1, 1};
  Grid grid(world(), shape, {});
  const auto places = grid::gather_places(world(), grid.shape(), "device of rank " + std::to_string(world().rank()));
  ASSERT_EQ(std::ssize(places), world().rank() == 0 ? world().size() : 0);
  for (int r = 0; r < std::ssize(places); ++r) {
    const auto& place = places[static_cast<std::size_t>(r)];
    EXPECT_EQ(place.rank, r);
    EXPECT_EQ(place.host, world().host());
    EXPECT_EQ(place.device, "device of rank " + std::to_string(r));
    EXPECT_EQ(place.at, (Coordinates{r, 0, 0}));
  }
}

TEST(Cores, NoMoreThreadsThanCoresOnTheNode) {
  std::vector<double> share = {static_cast<double>(grid::cores_of_rank(world()))};
  EXPECT_GE(share[0], 1);
  EXPECT_LE(share[0], std::ssize(grid::allowed_cores()));
  world().everyone().all_reduce(share, Reduce::sum);
  EXPECT_LE(share[0], static_cast<double>(std::max<long>(sysconf(_SC_NPROCESSORS_ONLN), world().size())));
}

}  // namespace trireme::test
