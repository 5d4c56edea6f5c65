// The simulator itself, on kernels of a few lines: what CUDA promises happens, what it forbids is reported with file and line.
// Oracle: the CUDA programming guide's words, as numbers worked out here.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <set>
#include <vector>

#include "kernels/cuda/instructions/ptx.cuh"
#include "validation/unit/simt/fixture.h"

namespace trireme::simt {
namespace {

namespace ptx = kernels::ptx;

using SimtEngine = SimtTest;
TRIREME_IN_EVERY_ORDER(SimtEngine);

TEST_P(SimtEngine, EveryThreadOfEveryBlockRunsOnceWithItsIndices) {
  std::set<std::vector<unsigned>> seen;
  run({2, 3, 2}, {3, 2, 7}, 0, [&] {
    EXPECT_EQ(gridDim.y, 3u);
    EXPECT_EQ(blockDim.z, 7u);
    const Quiet quiet;
    seen.insert({blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z});
  });
  EXPECT_EQ(seen.size(), 2u * 3 * 2 * 3 * 2 * 7);
  EXPECT_EQ(counters().blocks, 12u);
}

TEST_P(SimtEngine, ABarrierMakesWritesVisible) {
  DeviceBuffer<int> sums(40);
  run(40, 96, 0, [&] {
    TRIREME_SHARED(int, values, 96);
    for (int round = 1; round <= 3; ++round) {
      values[threadIdx.x] = round * static_cast<int>(threadIdx.x);
      __syncthreads();
      if (threadIdx.x == 5) sums[blockIdx.x] = std::accumulate(values, values + 96, 0);
      __syncthreads();
    }
  });
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(sums[i], 3 * 96 * 95 / 2);
}

TEST_P(SimtEngine, SharedMemoryIsNaNInEveryBlock) {
  std::atomic<int> numbers = 0;
  run(3, 32, 400, [&] {
    TRIREME_SHARED(float, fixed, 8);
    TRIREME_DYNAMIC_SHARED(bytes, 400);
    float own;
    std::memcpy(&own, bytes + 4 * threadIdx.x, 4);
    if (!std::isnan(own) || !std::isnan(fixed[threadIdx.x % 8])) ++numbers;
    __syncwarp();
    if (threadIdx.x < 8) fixed[threadIdx.x] = 1;
    std::memset(bytes + 4 * threadIdx.x, 0, 4);
  });
  EXPECT_EQ(numbers, 0);
}

TEST_P(SimtEngine, Shuffles) {
  for (const int width : {32, 16, 8, 1})
    run(2, 64, 0, [&] {
      const int i = static_cast<int>(threadIdx.x) % 32, first = i / width * width;
      EXPECT_EQ(__shfl_sync(~0u, i * 10, 3, width), 10 * (first + 3 % width));
      EXPECT_EQ(__shfl_xor_sync(~0u, i + 0.5, 1, width), (width == 1 && (i ^ 1) > i ? i : i ^ 1) + 0.5);
      EXPECT_EQ(__shfl_up_sync(~0u, i, 2, width), i - first >= 2 ? i - 2 : i);
      EXPECT_EQ(__shfl_down_sync(~0u, i, 2, width), i - first + 2 < width ? i + 2 : i);
    });
}

TEST_P(SimtEngine, HalvesOfAWarpGoDifferentWays) {
  run(1, 32, 0, [] {
    const int i = static_cast<int>(threadIdx.x);
    if (i < 16)
      EXPECT_EQ(__shfl_xor_sync(0xffffu, i, 1), i ^ 1);
    else
      EXPECT_EQ(__ballot_sync(0xffff0000u, i % 2), 0xaaaa0000u);
    __syncwarp();
  });
}

TEST_P(SimtEngine, Votes) {
  run(1, 32, 0, [] {
    const int i = static_cast<int>(threadIdx.x);
    EXPECT_EQ(__ballot_sync(~0u, i % 3 == 0), 0x49249249u);
    EXPECT_EQ(__any_sync(~0u, i == 31), 1);
    EXPECT_EQ(__any_sync(~0u, i > 31), 0);
    EXPECT_EQ(__all_sync(~0u, i < 32), 1);
    EXPECT_EQ(__all_sync(~0u, i != 7), 0);
  });
}

TEST_P(SimtEngine, NamedBarriersHandOver) {
  std::atomic<int> consumed = 0;
  run(1, 64, 0, [&] {  // warp 0 produces, warp 1 consumes; one place, so both directions need a barrier
    TRIREME_SHARED(int, place, 32);
    const unsigned i = threadIdx.x % 32;
    for (int round = 0; round < 5; ++round) {
      if (threadIdx.x < 32) {
        if (round > 0) ptx::barrier_sync(2, 64);
        place[i] = round;
        ptx::barrier_arrive(1, 64);
      } else {
        ptx::barrier_sync(1, 64);
        consumed += place[31 - i] == round;
        if (round < 4) ptx::barrier_arrive(2, 64);
      }
    }
  });
  EXPECT_EQ(consumed, 5 * 32);
}

TEST_P(SimtEngine, AMissingBarrierShowsAsNaN) {
  std::atomic<int> numbers = 0;
  run(1, 64, 0, [&] {
    const Quiet race_on_purpose;
    TRIREME_SHARED(float, values, 64);
    values[threadIdx.x] = 1;
    if (!std::isnan(values[63 - threadIdx.x])) ++numbers;
  });
  EXPECT_LT(numbers, 64);
}

TEST_P(SimtEngine, TheOrderIsTheOneAskedFor) {
  std::vector<unsigned> order;
  const auto kernel = [&] {
    const Quiet quiet;
    order.push_back(64 * blockIdx.x + threadIdx.x);
  };
  run(2, 64, 0, kernel);
  std::vector<unsigned> ascending(128);
  std::iota(ascending.begin(), ascending.end(), 0u);
  if (options().order == Order::ascending) {
    EXPECT_EQ(order, ascending);
  }
  if (options().order == Order::descending) {
    EXPECT_TRUE(std::equal(order.rbegin(), order.rend(), ascending.begin()));
  }
  if (options().order == Order::random) {
    EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
    std::vector<unsigned> first;
    first.swap(order);
    run(2, 64, 0, kernel);
    EXPECT_EQ(order, first) << "equal seeds, equal orders";
    options().seed = 77;
    order.clear();
    run(2, 64, 0, kernel);
    EXPECT_NE(order, first);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, ascending);
  }
}

TEST_P(SimtEngine, TheOtherWayToSwitchFibers) {
  options().assembly = false;
  std::atomic<int> sum = 0;
  run(3, 96, 0, [&] {
    __syncthreads();
    sum += __shfl_sync(~0u, static_cast<int>(threadIdx.x), 4) % 32;
    __syncthreads();
  });
  EXPECT_EQ(sum, 3 * 96 * 4);
  expect_error(
      [] {
        run(1, 64, 0, [] {
          if (threadIdx.x < 32) __syncthreads();
        });
      },
      "deadlock");
}

// ---- cp.async

TEST_P(SimtEngine, CopiesAreThereOnlyAfterTheWait) {
  DeviceBuffer<float> from(std::vector<float>(64, 3.0f));
  std::atomic<int> early = 0, late = 0;
  run(1, 32, 512, [&] {
    TRIREME_DYNAMIC_SHARED(bytes, 512);
    auto* to = reinterpret_cast<float*>(bytes);
    const unsigned i = threadIdx.x;
    to[i] = 1;
    ptx::cp_async<4>(to + i, &from[i]);
    early += to[i] == 1;
    ptx::cp_async_commit();
    ptx::cp_async<8>(to + 32 + 2 * i, &from[2 * (i % 16)], 4);
    ptx::cp_async_commit();
    ptx::cp_async_wait<1>();
    late += to[i] == 3;
    ptx::cp_async_wait<0>();
    late += to[32 + 2 * i] == 3 && to[33 + 2 * i] == 0;
  });
  EXPECT_EQ(early, 0) << "as if it began to land at once";
  EXPECT_EQ(late, 64);
}

TEST_P(SimtEngine, AGroupIsInFlightUntilItsTurn) {
  DeviceBuffer<float> from(std::vector<float>(8, 3.0f));
  std::atomic<int> landed = 0;
  run(64, 32, 16, [&] {
    TRIREME_DYNAMIC_SHARED(to, 16);
    if (threadIdx.x != 0) return;
    ptx::cp_async<16>(to, from.data());
    ptx::cp_async_commit();
    ptx::cp_async_commit();  // an empty group counts
    ptx::cp_async_wait<2>();
    landed += *reinterpret_cast<float*>(to) == 3;
    ptx::cp_async_wait<0>();
    EXPECT_EQ(*reinterpret_cast<float*>(to), 3);
  });
  if (options().order == Order::random)  // one in four lands early: 16 of 64 expected, 3 standard deviations are 10
    EXPECT_TRUE(landed > 5 && landed < 27) << landed;
  else
    EXPECT_EQ(landed, 0);
}

}  // namespace
}  // namespace trireme::simt
