// What CUDA forbids or leaves undefined ends the launch with a report of the kernel, block, thread, file and line.
#include <functional>
#include <string>

#include "kernels/cuda/instructions/ptx.cuh"
#include "validation/unit/simt/fixture.h"

namespace trireme::simt {
namespace {

namespace ptx = kernels::ptx;

/// The n-th line after the one it stands on, as reports name it
std::string line_after(unsigned n, Location where = Location::current()) {
  return "reports.np1.cpp:" + std::to_string(where.line() + n);
}

void two_arrays(int) {
  TRIREME_SHARED(int, first, 64);
  TRIREME_SHARED(int, second, 64);
  first[threadIdx.x] = second[threadIdx.x] = 1;
}

using SimtReports = SimtTest;
TRIREME_IN_EVERY_ORDER(SimtReports);

TEST_P(SimtReports, ADeadlockNamesEveryGroupAndItsLine) {
  const std::string line = line_after(2);
  const auto kernel = [] {
    if (threadIdx.x < 32) __syncthreads();
  };
  expect_error([&] { run(1, 96, 0, kernel); },
               "kernel block (0,0,0): deadlock: {32 threads from 0: __syncthreads " + line + "} {64 threads from 32: ended}");
}

TEST_P(SimtReports, DivergentBarriers) {
  expect_error(
      [] {
        run(1, 64, 0, [] {
          if (threadIdx.x < 32)
            __syncthreads();
          else
            __syncthreads();
        });
      },
      "other threads wait in __syncthreads at reports.np1.cpp:");
}

TEST_P(SimtReports, MisusedNamedBarriers) {
  expect_error([] { run(1, 64, 0, [] { ptx::barrier_sync(1, threadIdx.x < 32 ? 32 * 3 : 64); }); }, "is in use for");
  expect_error([] { run(1, 64, 0, [] { ptx::barrier_sync(1, 48); }); }, "multiple of 32");
  expect_error([] { run(1, 64, 0, [] { ptx::barrier_sync(16, 64); }); }, "barriers 0 to 15");
  expect_error([] { run(1, 64, 0, [] { ptx::barrier_arrive(3, 96); }); }, "ends with 64 threads arrived at the barrier");
}

TEST_P(SimtReports, MisusedCollectives) {
  expect_error([] { run(1, 32, 0, [] { __syncwarp(0xfffffffeu); }); }, "the calling lane is not in the mask");
  expect_error(
      [] {
        run(1, 32, 0, [] {
          if (threadIdx.x < 4) __shfl_sync(0xfu, 1, 5);
        });
      },
      "reads lane 5, which is not in the mask");
  expect_error([] { run(1, 32, 0, [] { threadIdx.x < 16 ? __syncwarp(0x1ffffu) : __syncwarp(0xffff8000u); }); }, "masks overlap");
  expect_error(
      [] {
        run(1, 32, 0, [] {
          if (threadIdx.x % 2 == 0)
            __ballot_sync(~0u, 1);
          else
            __ballot_sync(~0u, 1);
        });
      },
      "other lanes of the mask wait in __ballot_sync reports.np1.cpp:");
  expect_error(
      [] {
        run(1, 32, 0, [] {
          if (threadIdx.x != 9) __syncwarp();
        });
      },
      "{1 threads from 9: ended}");
}

TEST_P(SimtReports, AccessesOutOfBounds) {
  DeviceBuffer<float> buffer(9);
  const std::string line = line_after(1);
  const auto after = [&] { ptx::load<float>(buffer.data() + threadIdx.x / 31 * 9); };
  expect_error([&] { run(1, 32, 0, after); }, "thread 31 (last at load " + line +
                                                  "): 4 bytes outside every device buffer and the"
                                                  " block's shared memory, 36 bytes into one of 36");
  expect_error([&] { run(1, 32, 0, [&] { ptx::store(buffer.data() - 1, 0.0f); }); }, "outside every device buffer");
  expect_error([&] { run(1, 32, 0, [&] { ptx::load<uint4>(buffer.data() + 1); }); }, "not a multiple of the 16 bytes");
  expect_error(
      [&] {
        run(1, 32, 64, [&] {
          TRIREME_DYNAMIC_SHARED(p, 64);
          ptx::load<float>(p + 4 * threadIdx.x);
        });
      },
      "outside every device buffer and the block's shared memory");
  // Without load and store only the page after the end sees it.
  volatile float* raw = buffer.data();
  expect_error([&] { run(1, 1, 0, [&] { raw[12] = 0; }); }, "outside the memory it was given");
  run(1, 1, 0, [&] { raw[8] = 0; });  // and the launch after it is well
  expect_error(
      [] {
        run(1, 32, 128, [] {
          TRIREME_DYNAMIC_SHARED(p, 128);
          static_cast<volatile unsigned char*>(p)[128 + threadIdx.x] = 0;
        });
      },
      "outside the memory it was given");
}

TEST_P(SimtReports, LaunchesThatCannotBe) {
  const auto nothing = [] {};
  expect_error([&] { run(1, 1025, 0, nothing); }, "1025 threads");
  expect_error([&] { run(1, {1, 1, 65}, 0, nothing); }, "65 threads");
  expect_error([&] { run(0, 32, 0, nothing); }, "a grid of 0");
  expect_error([&] { run({1, 65536}, 32, 0, nothing); }, "65536");
  expect_error([&] { run(1, 32, 232449, nothing); }, "232449 bytes of shared memory");
  expect_error([] { TRIREME_LAUNCH(two_arrays, dim3(1), dim3(32), 163 * 1024 + 1, nullptr, 0); }, "163 KiB at most");
  expect_error([] { TRIREME_LAUNCH(two_arrays, dim3(1), dim3(32), 163 * 1024 - 511, nullptr, 0); },
               "512 bytes of arrays in shared memory and, from the next multiple of 16, a dynamic part of 166401: 166912 bytes");
  EXPECT_NO_THROW(TRIREME_LAUNCH(two_arrays, dim3(1), dim3(32), 163 * 1024 - 512, nullptr, 0));
  run(1, 1024, 232448, nothing);
  expect_error(
      [] {
        run(1, 1, 232448 - 120, [] {
          TRIREME_SHARED(double, p, 1);
          TRIREME_DYNAMIC_SHARED(tiles, 232448);
          static_cast<void>(p), static_cast<void>(tiles);
        });
      },
      "8 bytes of arrays in shared memory and, from the next multiple of 128, a dynamic part of 232328: 232448 bytes");
  expect_error(
      [] {
        run(1, 32, 0, [] {
          TRIREME_DYNAMIC_SHARED(p, 64);
          *p = 0;
        });
      },
      "without dynamic shared memory");
  expect_error(
      [] {
        run(1, 32, 65, [] {
          TRIREME_DYNAMIC_SHARED(p, 64);
          *p = 0;
        });
      },
      "was launched with 65 bytes of dynamic shared memory, and says 64 at most");
  expect_error(
      [] {
        run(1, 32, 0, [] {
          TRIREME_SHARED(double, p, 6145);
          p[0] = 0;
        });
      },
      "more than 48 KiB");
}

TEST_P(SimtReports, MisusedCopies) {
  DeviceBuffer<float> from(8);
  const auto copying = [&](const std::function<void(unsigned char*)>& work) {
    return [&, work] {
      run(1, 32, 512, [&] {
        TRIREME_DYNAMIC_SHARED(to, 512);
        work(to);
      });
    };
  };
  expect_error(copying([&](auto* to) { ptx::cp_async<16>(to, from.data()); }), "never committed");
  expect_error(copying([&](auto* to) { ptx::cp_async<16>(to, from.data()), ptx::cp_async_commit(); }), "never waited for");
  expect_error(copying([&](auto* to) { ptx::cp_async<16>(to, from.data() + 2); }), "not a multiple of the 16 bytes");
  expect_error(copying([&](auto* to) { ptx::cp_async<16>(to, from.data() + 8); }), "outside every device buffer");
  expect_error(copying([&](auto* to) { ptx::cp_async<4>(to + 512, from.data()); }), "outside the block's shared memory");
  expect_error(copying([&](auto* to) { ptx::cp_async<4>(to, from.data(), 5); }), "5 bytes of a source");
}

}  // namespace
}  // namespace trireme::simt
