// What would end or stall the test program, or go by unseen: plain accesses, endless loops, exceptions, stacks, launches,
// streams.
#include <stdexcept>

#include "kernels/cuda/instructions/ptx.cuh"
#include "kernels/cuda/runtime.h"
#include "validation/unit/simt/fixture.h"

namespace trireme::simt {
namespace {

namespace ptx = kernels::ptx;

std::string line_after(unsigned n, Location where = Location::current()) {
  return "reports_faults.np1.cpp:" + std::to_string(where.line() + n);
}

using SimtReportsFaults = SimtTest;
TRIREME_IN_EVERY_ORDER(SimtReportsFaults);

TEST_P(SimtReportsFaults, PlainAccessesNameTheirLine) {
  DeviceBuffer<float> buffer(32);
  volatile float* p = buffer.data();
  const std::string line = line_after(1);
  const auto past = [&] { (void)p[threadIdx.x + 1]; };
  expect_error([&] { run(1, 32, 0, past); }, ", outside the memory it was given, 128 bytes into one of 128 [" + line + "]");
}

// The memory that is left of a page, where no access faults, and shared memory beside that of the block
TEST_P(SimtReportsFaults, PlainAssignmentsBesideMemory) {
  DeviceBuffer<float> buffer(30);
  volatile float* p = buffer.data();
  expect_error([&] { run(1, 1, 0, [&] { p[-1] = 0; }); },
               "kernel: a plain assignment wrote outside every device buffer, 4 bytes before one of 120");
  expect_error([&] { run(1, 1, 0, [&] { p[30] = 0; }); }, "120 bytes into one of 120");
  run(1, 30, 0, [&] { p[threadIdx.x] = 0; });
  const auto dynamic = [](int at) {
    return [at] {
      TRIREME_DYNAMIC_SHARED(bytes, 96);
      static_cast<volatile unsigned char*>(bytes)[at] = 0;
    };
  };
  expect_error([&] { run(2, 1, 96, dynamic(-1)); }, "a plain assignment wrote before the dynamic shared memory");
  run(1, 1, 96, dynamic(0));
  const auto array = [](unsigned at) {
    return [at] {
      TRIREME_SHARED(float, sums, 32);
      static_cast<volatile float*>(sums)[at] = 0;
    };
  };
  expect_error([&] { run(1, 1, 0, array(32)); }, "a plain assignment wrote past the last array in shared memory");
  run(1, 1, 0, array(31));
}

TEST_P(SimtReportsFaults, EndlessLoops) {
  options().block_seconds = 0.05;
  DeviceBuffer<int> flag(std::vector<int>{0});
  const std::string line = line_after(2);
  const auto counted = [&] {
    while (ptx::load<int>(flag.data()) == 0) {
    }
  };
  expect_error([&] { run(1, 32, 0, counted); }, "endless loop, or one that waits for another thread's write");
  expect_error([&] { run(1, 32, 0, counted); }, "[" + line + "]");
  expect_error(
      [&] {
        run(1, 32, 0, [&] {
          while (ptx::load<int>(flag.data()) == 0) __syncwarp();
        });
      },
      "endless loop");
  volatile int* plain = flag.data();
  if (!finds_races)  // whose runtime holds signals back
    expect_error(
        [&] {
          run(1, 32, 0, [&] {
            while (*plain == 0) {
            }
          });
        },
        "endless loop");
  run(1, 32, 0, [] { __syncthreads(); });  // and the launch after it is well
}

TEST_P(SimtReportsFaults, WhatWouldEndTheProgram) {
  expect_error([] { run(1, 32, 0, [] { throw std::runtime_error("from a kernel"); }); },
               "an exception left the kernel: from a kernel");
  expect_error([] { run(1, 32, 0, [] { run(1, 1, 0, [] {}); }); }, "a launch of kernel within a launch");
  expect_error(
      [] {
        run(1, 32, 0, [] {
          volatile char many[200 * 1024];
          many[threadIdx.x] = 0;
          (void)many[threadIdx.x];
        });
      },
      "its stack is full: more than 128 KiB");
#if defined(__x86_64__)  // other processors go on, as a GPU does
  volatile int zero = 0;
  expect_error(
      [&] {
        run(
            1, 32, 0, [&]() __attribute__((no_sanitize_undefined)) { zero = 7 / zero; });
      },
      "divides an integer by 0");
#endif
  run(1, 32, 0, [] { __syncthreads(); });
}

void nothing(int) {}

TEST_P(SimtReportsFaults, LaunchesNameTheKernel) {
  expect_error([] { TRIREME_LAUNCH(nothing, dim3(0), dim3(32), 0, nullptr, 0); }, "nothing: a grid of 0 x 1 x 1 blocks");
  expect_error([] { TRIREME_LAUNCH((nothing), dim3(1), dim3(2000), 0, nullptr, 0); }, "nothing: a block of 2000 threads");
  expect_error([] { TRIREME_LAUNCH(nothing, dim3(1), dim3(32), 200000, nullptr, 0); }, "nothing: 200000 bytes of shared memory");
}

TEST_P(SimtReportsFaults, DestroyedEventsAndMemory) {
  cudaEvent_t event = nullptr;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(event), cudaErrorInvalidValue);
  expect_error([&] { cudaEventRecord(event, nullptr); }, "cudaEventRecord: not an event");
  expect_error([&] { cudaStreamWaitEvent(nullptr, event); }, "cudaStreamWaitEvent: not an event");
  expect_error([&] { cudaEventSynchronize(event); }, "cudaEventSynchronize: not an event");
  void* memory = nullptr;
  cudaMalloc(&memory, 64);
  EXPECT_EQ(cudaFree(static_cast<char*>(memory) + 16), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

}  // namespace
}  // namespace trireme::simt
