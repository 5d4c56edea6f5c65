// What a launch has of a multiprocessor: threads by the kernel's launch bounds, shared memory as ptxas lays it, registers that
// warps give and take. Oracle: the CUDA programming guide's and the PTX manual's words, as numbers worked out here.
#include <atomic>
#include <cstdint>
#include <functional>

#include "kernels/cuda/instructions/ptx_sm90.cuh"
#include "validation/unit/simt/fixture.h"

namespace trireme::simt {
namespace {

namespace ptx = kernels::ptx;

using SimtResources = SimtTest;
TRIREME_IN_EVERY_ORDER(SimtResources);

// ---- launch bounds

std::atomic<int> calls = 0;
TRIREME_KERNEL((96), narrow_kernel, int) { ++calls; }
template <int warps>
TRIREME_KERNEL((32 * warps, warps <= 2 ? 2 : 1), wide_kernel, int) {
  ++calls;
}

TEST_P(SimtResources, ABlockBeyondItsLaunchBoundsIsRefused) {
  calls = 0;
  TRIREME_LAUNCH(narrow_kernel, dim3(1), dim3(96), 0, nullptr, 0);
  TRIREME_LAUNCH((wide_kernel<2>), dim3(1), dim3(8, 8), 0, nullptr, 0);
  EXPECT_EQ(calls, 96 + 64);
  expect_error([] { TRIREME_LAUNCH(narrow_kernel, dim3(1), dim3(97), 0, nullptr, 0); },
               "narrow_kernel: a block of 97 threads: its launch bounds say 96 at most");
  expect_error([] { TRIREME_LAUNCH((wide_kernel<2>), dim3(1), dim3(8, 9), 0, nullptr, 0); },
               "72 threads: its launch bounds say 64");
  expect_error([] { TRIREME_LAUNCH((wide_kernel<3>), dim3(1), dim3(16, 2, 4), 0, nullptr, 0); }, "bounds say 96 at most");
  EXPECT_EQ(calls, 96 + 64) << "nothing of what is refused runs";
}

// ---- shared memory

std::uintptr_t address_of(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

TEST_P(SimtResources, SharedMemoryIsAlignedAsAskedForAndNoBetter) {
  run(1, 1, 2048, [] {
    TRIREME_DYNAMIC_SHARED(tiles, 2048);
    TRIREME_SHARED(float, sums, 5);
    TRIREME_SHARED(double, parts, 3);
    TRIREME_SHARED(float4, quads, 1);
    EXPECT_EQ(address_of(tiles) % 128, 0u);
    EXPECT_EQ(address_of(sums) % 8, 4u);
    EXPECT_EQ(address_of(parts) % 16, 8u);
    EXPECT_EQ(address_of(quads) % 32, 16u);
    EXPECT_EQ(shared_address(tiles, 1, Location::current()) % 1024, address_of(tiles) % 1024);
    if (options().order != Order::ascending) {
      EXPECT_EQ(address_of(tiles) % 256, 128u);
    }
  });
  run(1, 1, 2048, [] {
    TRIREME_TILES_SHARED(tiles, 2048);
    EXPECT_EQ(shared_address(tiles, 1, Location::current()) % 1024, 0u);
  });
}

TEST_P(SimtResources, WhatTakesMoreAlignmentThanItAskedForShows) {
  expect_error(
      [] {
        run(1, 32, 0, [] {
          TRIREME_SHARED(float, sums, 128);
          ptx::store(sums + 4 * threadIdx.x, float4{});
        });
      },
      "address is not a multiple of the 16 bytes accessed");
  if (GetParam().order == Order::ascending) return;  // there an unreadable page follows the dynamic part instead
  DeviceBuffer<float> from(std::vector<float>(256, 1));
  const auto map = ptx::make_tensor_map(from.data(), {32, 8}, {32}, {32, 8}, ptx::Swizzle::bytes128);
  expect_error(
      [&] {
        run(1, 32, 1024, [&] {
          TRIREME_DYNAMIC_SHARED(tiles, 1024);  // not TRIREME_TILES_SHARED
          TRIREME_SHARED(std::uint64_t, barrier, 1);
          if (threadIdx.x > 0) return;
          ptx::mbarrier_init(barrier, 1);
          ptx::mbarrier_init_fence();
          ptx::mbarrier_arrive_expect(barrier, 1024);
          ptx::tma_load(tiles, map, barrier, {0, 0});
          ptx::mbarrier_wait(barrier, 0);
        });
      },
      "TMA: address in shared memory is not a multiple of 1024");
}

TEST_P(SimtResources, DynamicMemoryEndsWhereTheLaunchSays) {
  expect_error(
      [] {
        run(1, 32, 100, [] {
          TRIREME_DYNAMIC_SHARED(p, 128);
          ptx::load<float>(p + 4 * threadIdx.x);
        });
      },
      "outside every device buffer and the block's shared memory");
  expect_error(
      [] {
        run(1, 32, 100, [] {
          TRIREME_DYNAMIC_SHARED(p, 128);
          static_cast<volatile unsigned char*>(p)[100] = static_cast<unsigned char>(threadIdx.x);
        });
      },
      "a plain assignment wrote past the dynamic shared memory");
  expect_error(
      [] {
        run(1, 1, 232448 - 1000, [] {
          TRIREME_SHARED(double, p, 1);
          TRIREME_TILES_SHARED(tiles, 232448);
          static_cast<void>(p), static_cast<void>(tiles);
        });
      },
      "8 bytes of arrays in shared memory and, from the next multiple of 1024, a dynamic part of 231448");
}

// ---- registers: 384 threads have 168 each

TRIREME_KERNEL((384, 1), exchanging_kernel, const std::function<void(int group)>* work) {
  (*work)(static_cast<int>(threadIdx.x) / 128);
}
void exchange_registers(const std::function<void(int)>& work) {
  TRIREME_LAUNCH(exchanging_kernel, dim3(1), dim3(384), 0, nullptr, &work);
}

TEST_P(SimtResources, RegistersGoFromWarpToWarp) {
  std::atomic<int> ended = 0;
  exchange_registers([&](int group) {  // 24 + 2 * 240 = 3 * 168
    group == 0 ? ptx::give_registers<24>() : ptx::take_registers<240>();
    ++ended;
  });
  exchange_registers([&](int group) {  // and back: who takes last waits for who gave first
    if (group == 0) ptx::give_registers<128>(), ptx::take_registers<248>();
    if (group == 1) ptx::take_registers<208>(), ptx::give_registers<128>();
    if (group == 2) ptx::give_registers<128>();
    ++ended;
  });
  EXPECT_EQ(ended, 2 * 384);
}

TEST_P(SimtResources, MoreRegistersThanTheLaunchHasAreNeverFree) {
  expect_error([] { exchange_registers([](int group) { group == 0 ? ptx::give_registers<32>() : ptx::take_registers<240>(); }); },
               "setmaxnreg.inc resources.np1.cpp:");
  expect_error([] { exchange_registers([](int group) { group == 0 ? ptx::give_registers<32>() : ptx::take_registers<240>(); }); },
               "registers of the 64512 are free}");
  expect_error([] { exchange_registers([](int) { ptx::take_registers<176>(); }); }, "{0 registers of the 64512 are free}");
}

TEST_P(SimtResources, MisusedRegisters) {
  expect_error([] { exchange_registers([](int) { ptx::give_registers<176>(); }); }, "setmaxnreg.dec: from 168 registers to 176");
  expect_error([] { exchange_registers([](int) { ptx::take_registers<160>(); }); }, "setmaxnreg.inc: from 168 registers to 160");
  expect_error([] { run(1, 128, 0, [] { ptx::give_registers<24>(); }); }, "setmaxnreg.dec: the kernel has no launch bounds");
  expect_error(
      [] {
        exchange_registers([](int) {
          if (threadIdx.x >= 32) ptx::give_registers<24>();
        });
      },
      "left out a setmaxnreg of its warpgroup");
}

// ---- mbarriers

// Alone it is a deadlock; beside a warp that never rests the block takes too long.
TEST_P(SimtResources, AWaitForAPhaseThatNeverEndsEnds) {
  options().block_seconds = 0.05;
  const auto waiting = [](bool with_polling) {
    return [with_polling] {
      run(1, 64, 0, [=] {
        TRIREME_SHARED(std::uint64_t, barrier, 1);
        if (threadIdx.x == 0) ptx::mbarrier_init(barrier, 1);
        __syncthreads();
        if (threadIdx.x < 32) return ptx::mbarrier_wait(barrier, 0);
        while (with_polling) __syncwarp();
      });
    };
  };
  expect_error(waiting(false), "1 arrivals and 0 bytes are missing}");
  expect_error(waiting(true), "its block takes more than");
}

}  // namespace
}  // namespace trireme::simt
