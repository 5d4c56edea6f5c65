// What is forbidden or left undefined of mbarriers and TMA ends the launch with a report.
#include <functional>

#include "kernels/cuda/instructions/ptx_sm90.cuh"
#include "validation/unit/simt/fixture.h"

namespace trireme::simt {
namespace {

namespace ptx = kernels::ptx;
using ptx::Swizzle;

using SimtReportsSm90 = SimtTest;
TRIREME_IN_EVERY_ORDER(SimtReportsSm90);

std::string line_after(unsigned n, Location where = Location::current()) {
  return "reports_sm90.np1.cpp:" + std::to_string(where.line() + n);
}

/// 64 threads with one mbarrier
void with_barrier(const std::function<void(std::uint64_t*)>& work) {
  run(1, 64, 0, [&] {
    TRIREME_SHARED(std::uint64_t, barrier, 1);
    work(barrier);
  });
}
void init_by_first(std::uint64_t* barrier, int count) {
  if (threadIdx.x == 0) ptx::mbarrier_init(barrier, count);
}

TEST_P(SimtReportsSm90, MisusedMbarriers) {
  expect_error([] { with_barrier([](auto* b) { ptx::mbarrier_arrive(b); }); }, "an mbarrier without mbarrier.init");
  expect_error([] { with_barrier([](auto* b) { ptx::mbarrier_init(b, 1); }); }, "an mbarrier is already here, from");
  expect_error([] { with_barrier([](auto* b) { init_by_first(b, 0); }); }, "an mbarrier for 0 arrivals");
  expect_error(
      [] {
        with_barrier([](auto* b) {
          init_by_first(b, 1);
          __syncwarp();
          if (threadIdx.x == 1) ptx::mbarrier_arrive(b);
          if (threadIdx.x >= 32) ptx::mbarrier_wait(b, 0);  // warp 1 has met no barrier
        });
      },
      GetParam().order == Order::ascending ? "is not known to this thread" : "mbarrier.init");
  expect_error(
      [] {
        with_barrier([](auto* b) {
          init_by_first(b, 1);
          __syncthreads();
          if (threadIdx.x < 2) ptx::mbarrier_arrive_expect(b, 16);
        });
      },
      "more arrivals in a phase than the 1 of mbarrier.init");
  expect_error(
      [] {
        with_barrier([](auto* b) {
          init_by_first(b, 1);
          __syncthreads();
          if (threadIdx.x == 0) ptx::store(b, ~std::uint64_t{0});
          __syncthreads();
          ptx::mbarrier_wait(b, 0);
        });
      },
      "was overwritten");
  const std::string line = line_after(6);
  expect_error(
      [] {
        with_barrier([](auto* b) {
          init_by_first(b, 3);
          __syncthreads();
          if (threadIdx.x >= 32) return ptx::mbarrier_wait(b, 0);
          if (threadIdx.x < 2) ptx::mbarrier_arrive_expect(b, 64);
        });
      },
      "deadlock: {32 threads from 0: ended} {32 threads from 32: mbarrier.wait parity 0 " + line + "} {mbarrier of");
}

TEST_P(SimtReportsSm90, MissingBytesAreCounted) {
  expect_error(
      [] {
        with_barrier([](auto* b) {
          init_by_first(b, 3);
          __syncthreads();
          if (threadIdx.x < 2) ptx::mbarrier_arrive_expect(b, 64);
          ptx::mbarrier_wait(b, 0);
        });
      },
      "parity 0: 1 arrivals and 128 bytes are missing}");
}

TEST_P(SimtReportsSm90, TensorMapsThatCannotBe) {
  alignas(16) static float data[64];
  const auto refused = [](const auto& make) {
    try {
      make();
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const auto plain = Swizzle::none;
  EXPECT_EQ(refused([&] { ptx::make_tensor_map(data + 4, {8, 4}, {8}, {8, 4}, plain); }), "");
  EXPECT_EQ(refused([&] {
              ptx::make_tensor_map(data + 1, {8, 4}, {8}, {8, 4}, plain);
            }),
            "tensor map: the tensor does not begin at a multiple of 16 bytes");
  EXPECT_EQ(refused([&] {
              ptx::make_tensor_map(data, {8, 0}, {8}, {8, 4}, plain);
            }),
            "tensor map: the size 0 of dimension 1 is not between 1 and 2^32");
  EXPECT_EQ(refused([&] {
              ptx::make_tensor_map(data, {8, 4}, {9}, {8, 4}, plain);
            }),
            "tensor map: the stride of 36 bytes of dimension 1 is not a multiple of 16 below 2^40");
  EXPECT_EQ(refused([&] {
              ptx::make_tensor_map(data, {8, 4}, {8}, {8, 257}, plain);
            }),
            "tensor map: the box has 257 elements of dimension 1, not 1 to 256");
  EXPECT_EQ(refused([&] {
              ptx::make_tensor_map(data, {8, 4}, {8}, {6, 4}, plain);
            }),
            "tensor map: rows of the box have 24 bytes, not a multiple of 16");
  EXPECT_EQ(refused([&] {
              ptx::make_tensor_map(data, {8, 4}, {8}, {8, 4}, Swizzle::bytes128);
            }),
            "tensor map: rows of the box have 32 bytes, and the swizzle takes 128");
}

/// One warp with 2 KiB of shared memory and a fenced mbarrier for one arrival
void with_tiles(const std::function<void(unsigned char*, std::uint64_t*)>& work) {
  run(1, 32, 2048, [&] {
    TRIREME_TILES_SHARED(tiles, 2048);
    TRIREME_SHARED(std::uint64_t, barrier, 1);
    init_by_first(barrier, 1);
    ptx::mbarrier_init_fence();
    __syncwarp();
    work(tiles, barrier);
  });
}

TEST_P(SimtReportsSm90, MisusedTmaLoads) {
  DeviceBuffer<float> from(std::vector<float>(256, 1));
  const auto map = ptx::make_tensor_map(from.data(), {32, 8}, {32}, {32, 8}, Swizzle::none);
  const auto swizzled = ptx::make_tensor_map(from.data(), {32, 8}, {32}, {32, 8}, Swizzle::bytes128);
  const auto longer = ptx::make_tensor_map(from.data(), {32, 9}, {32}, {32, 8}, Swizzle::none);
  const auto loading = [](const auto& load) {
    return [load] {
      with_tiles([&](unsigned char* tiles, std::uint64_t* barrier) {
        if (threadIdx.x == 0) load(tiles, barrier);
      });
    };
  };
  expect_error(loading([&](auto* to, auto* b) { ptx::tma_load(to + 64, map, b, {0, 0}); }), "not a multiple of 128");
  expect_error(loading([&](auto* to, auto* b) { ptx::tma_load(to + 128, swizzled, b, {0, 0}); }), "not a multiple of 1024");
  expect_error(loading([&](auto* to, auto* b) {
                 ptx::tma_load(to + 1152, map, b, {0, 0});
               }),
               "outside the block's shared memory");
  expect_error(loading([&](auto* to, auto* b) { ptx::tma_load(to, map, b, {0, 0, 0}); }), "a tensor map of another rank");
  expect_error(loading([&](auto* to, auto* b) { ptx::tma_load(to, longer, b, {0, 1}); }), "outside every device buffer");
  expect_error(loading([&](auto* to, auto* b) {
                 ptx::store(to + 4, 1.0f);
                 ptx::tma_load(to, map, b, {0, 0});
               }),
               "TMA load: shared memory that thread 0 wrote without fence.proxy.async");
  // In random order it may land before the thread ends.
  if (GetParam().order != Order::random)
    expect_error(loading([&](auto* to, auto* b) { ptx::tma_load(to, map, b, {0, 0}); }), "ends with a TMA load in flight");
}

TEST_P(SimtReportsSm90, MisusedTmaStores) {
  DeviceBuffer<float> to(256);
  const auto map = ptx::make_tensor_map(to.data(), {32, 8}, {32}, {32, 8}, Swizzle::none);
  const auto storing = [&](const std::function<void(unsigned char*)>& before, const std::function<void(unsigned char*)>& after) {
    return [&, before, after] {
      with_tiles([&](unsigned char* tiles, std::uint64_t*) {
        for (int i = 0; i < 8; ++i) ptx::store(tiles + 128 * i + 4 * threadIdx.x, 1.0f);
        before(tiles);
        __syncwarp();
        if (threadIdx.x == 0) ptx::tma_store(map, {0, 0}, tiles);
        if (threadIdx.x == 0) after(tiles);
      });
    };
  };
  const auto fence = [](auto*) { ptx::fence_proxy_async(); };
  const auto commit_and_wait = [](auto*) { ptx::tma_store_commit(), ptx::tma_store_wait<0>(); };
  storing(fence, commit_and_wait)();
  EXPECT_EQ(to[255], 1.0f);
  expect_error(storing([](auto*) {}, commit_and_wait), "wrote without fence.proxy.async");
  expect_error(storing([](auto*) { threadIdx.x == 7 ? void() : ptx::fence_proxy_async(); }, commit_and_wait),
               "shared memory that thread 7 wrote without fence.proxy.async");
  expect_error(storing(
                   [&](auto* tiles) {
                     fence(tiles);
                     __syncwarp();
                     if (threadIdx.x == 3) reinterpret_cast<float*>(tiles)[40] = 2;
                     fence(tiles);
                   },
                   commit_and_wait),
               "a plain assignment wrote");
  expect_error(storing(fence, [](auto*) {}), "TMA stores that it never committed");
  if (GetParam().order == Order::random) return;  // the store may be done before the change
  expect_error(storing(fence, [](auto*) { ptx::tma_store_commit(), ptx::tma_store_wait<1>(); }),
               "TMA stores that it never waited for");
  expect_error(storing(fence,
                       [](auto* tiles) {
                         ptx::tma_store_commit();
                         ptx::store(tiles, 3.0f);
                         ptx::tma_store_wait_read<0>();
                       }),
               "the source of a TMA store changed");
}

}  // namespace
}  // namespace trireme::simt
