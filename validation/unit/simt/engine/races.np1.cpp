// What ThreadSanitizer finds in kernels of a few lines: a race in any order, none where barriers, __syncwarp and waits order the
// accesses. In other builds no race is ever reported. Oracle: the memory model of the CUDA programming guide.
#include <string>

#include "kernels/cuda/instructions/ptx.cuh"
#include "validation/unit/simt/fixture.h"

namespace trireme::simt {
namespace {

namespace ptx = kernels::ptx;

using SimtRaces = SimtTest;
TRIREME_IN_EVERY_ORDER(SimtRaces);

void read(const int* from, Location where = Location::current()) {
  [[maybe_unused]] volatile int kept = ptx::load<int>(from, where);
}

/// Runs `kernel(shared, i)` in 64 threads of each block.
template <class Kernel>
void run64(unsigned blocks, const Kernel& kernel) {
  run(blocks, 64, 1024, [&] {
    TRIREME_DYNAMIC_SHARED(shared, 1024);
    kernel(reinterpret_cast<int*>(shared), static_cast<int>(threadIdx.x));
  });
}
/// The report must be a race, if this build finds any.
template <class Kernel>
void expect_race(unsigned blocks, const Kernel& kernel) {
  const std::string report = error_of([&] { run64(blocks, kernel); });
  EXPECT_EQ(report.find("data race: ") != std::string::npos, finds_races) << report;
}
/// `kernel(shared, i, ordered)`: with or without what orders its accesses
template <class Kernel>
void expect_race_unless_ordered(const Kernel& kernel) {
  expect_race(1, [&](int* shared, int i) { kernel(shared, i, false); });
  run64(7, [&](int* shared, int i) { kernel(shared, i, true); });
}

TEST_P(SimtRaces, ReadAfterWriteNeedsABarrier) {
  expect_race_unless_ordered([](int* shared, int i, bool ordered) {
    shared[i] = i;
    if (ordered) __syncthreads();
    read(shared + 63 - i);
  });
}

TEST_P(SimtRaces, WriteAfterReadNeedsABarrier) {
  expect_race_unless_ordered([](int* shared, int i, bool ordered) {
    shared[i] = i;
    __syncthreads();
    read(shared + 63 - i);
    if (ordered) __syncthreads();
    shared[i] = 0;
  });
}

// The last one to arrive runs on and may stand at the next barrier before the others wake: that one orders nothing for them yet.
TEST_P(SimtRaces, WhatFollowsABarrierIsInNoOrder) {
  expect_race(1, [](int* shared, int i) {
    __syncthreads();
    if (i == 0 || i == 63) ptx::store(shared, i);
    __syncthreads();
  });
  expect_race(1, [](int* shared, int i) {
    __syncwarp();
    if (i == 0 || i == 31) ptx::store(shared, i);
    __syncwarp();
  });
}

TEST_P(SimtRaces, LanesNeedSyncwarpAndNoShuffleWillDo) {
  expect_race_unless_ordered([](int* shared, int i, bool ordered) {
    shared[i] = i;
    __shfl_xor_sync(~0u, i, 1);
    if (ordered) __syncwarp();
    read(shared + (i ^ 1));
  });
}

TEST_P(SimtRaces, SyncwarpOrdersItsMaskOnly) {
  expect_race_unless_ordered([](int* shared, int i, bool ordered) {
    shared[i] = i;
    i % 32 < 16 ? __syncwarp(0xffffu) : __syncwarp(0xffff0000u);
    read(shared + (i ^ (ordered ? 8 : 16)));
  });
}

TEST_P(SimtRaces, ArrivingOrdersWhatWasBefore) {
  expect_race_unless_ordered([](int* shared, int i, bool ordered) {
    if (i < 32) {
      if (ordered) shared[i] = i;
      ptx::barrier_arrive(1, 64);
      if (!ordered) shared[i] = i;
    } else {
      ptx::barrier_sync(1, 64);
      read(shared + i - 32);
    }
  });
}

TEST_P(SimtRaces, CopiesNeedAWaitAndThenABarrier) {
  DeviceBuffer<int> from(std::vector<int>(64, 1));
  expect_race_unless_ordered([&](int* shared, int i, bool ordered) {
    ptx::cp_async<4>(shared + i, from.data() + i);
    ptx::cp_async_commit();
    if (ordered) ptx::cp_async_wait<0>();
    __syncthreads();
    read(shared + 63 - i);
    ptx::cp_async_wait<0>();
  });
}

TEST_P(SimtRaces, CopiesMustNotBeginWhileOthersRead) {
  DeviceBuffer<int> from(std::vector<int>(64, 1));
  expect_race_unless_ordered([&](int* shared, int i, bool ordered) {
    shared[i] = i;
    __syncthreads();
    read(shared + 63 - i);
    if (ordered) __syncthreads();
    ptx::cp_async<4>(shared + i, from.data() + i);
    ptx::cp_async_commit();
    ptx::cp_async_wait<0>();
  });
}

TEST_P(SimtRaces, MatrixLoadsRead) {
  expect_race_unless_ordered([](int* shared, int i, bool ordered) {
    for (int k = i; k < 256; k += 64) shared[k] = i;
    if (ordered) __syncthreads();
    std::uint32_t r[4];
    ptx::ldmatrix(r, shared + 4 * (i % 32));
  });
}

TEST_P(SimtRaces, BlocksAreInNoOrderButLaunchesAre) {
  DeviceBuffer<int> to(128);
  expect_race(2, [&](int*, int i) { ptx::store(to.data() + i, i); });
  run64(2, [&](int*, int i) { ptx::store(to.data() + 64 * blockIdx.x + i, 1); });
  run64(2, [&](int*, int i) { ptx::store(to.data() + 64 * (1 - blockIdx.x) + i, 2); });
  to[5] = 3;
  EXPECT_EQ(to[6], 2);
}

TEST_P(SimtRaces, AReportNamesBothPlaces) {
  const auto line = std::source_location::current().line();
  const std::string report = error_of([] {
    run64(1, [](int* shared, int i) {
      if (i == 0) ptx::store(shared, 1);
      if (i == 1) shared[i] = ptx::load<int>(shared);
    });
  });
  const auto at = [&](unsigned n) { return " at races.np1.cpp:" + std::to_string(line + n); };
  const std::string write = "write" + at(3), read = "read" + at(4), between = ", without order after a ";
  const bool either = report.find(read + between + write) != report.npos || report.find(write + between + read) != report.npos;
  EXPECT_EQ(either, finds_races) << report;
}

}  // namespace
}  // namespace trireme::simt
