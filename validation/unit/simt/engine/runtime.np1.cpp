// Streams and events of the simulator's runtime, and the GPU as a Device on it. Oracle: what CUDA's programming model promises.
#include "kernels/simt/runtime.h"

#include <array>
#include <vector>

#include "base/error.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/instructions/ptx.cuh"
#include "kernels/cuda/views.h"
#include "validation/unit/simt/fixture.h"

namespace trireme::simt {
namespace {

namespace ptx = kernels::ptx;

void set(int* to, int value) { ptx::store(to, value); }
void add(int* to, const int* from) { ptx::store(to, ptx::load<int>(to) + ptx::load<int>(from)); }

class SimtRuntime : public SimtTest {
 protected:
  SimtRuntime() {
    for (cudaStream_t& s : streams) cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  }
  ~SimtRuntime() override {
    forget_work();
    for (const cudaStream_t s : streams) cudaStreamDestroy(s);
    cudaEventDestroy(event);
  }
  void set_on(cudaStream_t stream, DeviceBuffer<int>& to, int value) {
    TRIREME_LAUNCH(set, dim3(1), dim3(1), 0, stream, to.data(), value);
  }
  void add_on(cudaStream_t stream, DeviceBuffer<int>& to, DeviceBuffer<int>& from) {
    TRIREME_LAUNCH(add, dim3(1), dim3(1), 0, stream, to.data(), from.data());
  }
  void fault_on(cudaStream_t stream) { TRIREME_LAUNCH(set, dim3(1), dim3(1), 0, stream, a.data() + 1, 7); }
  std::array<cudaStream_t, 2> streams{};
  cudaEvent_t event = nullptr;
  DeviceBuffer<int> a{1}, b{1};
};
TRIREME_IN_EVERY_ORDER(SimtRuntime);

TEST_P(SimtRuntime, AStreamKeepsItsOrder) {
  set_on(streams[0], a, 1);
  set_on(streams[0], b, 10);
  for (int i = 0; i < 5; ++i) add_on(streams[0], a, b);
  cudaMemcpyAsync(b.data(), a.data(), sizeof(int), cudaMemcpyDeviceToDevice, streams[0]);
  cudaStreamSynchronize(streams[0]);
  EXPECT_EQ(a[0], 51);
  EXPECT_EQ(b[0], 51);
}

TEST_P(SimtRuntime, AnEventOrdersStreams) {
  for (int round = 0; round < 10; ++round) {
    set_on(streams[0], a, round);
    cudaEventRecord(event, streams[0]);
    cudaStreamWaitEvent(streams[1], event);
    set_on(streams[1], b, 100);
    add_on(streams[1], b, a);
    cudaStreamSynchronize(streams[1]);
    EXPECT_EQ(b[0], 100 + round);
    EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  }
}

TEST_P(SimtRuntime, AWaitIsForTheRecordBeforeIt) {
  set_on(streams[0], a, 1);
  cudaEventRecord(event, streams[0]);
  cudaStreamWaitEvent(streams[1], event);
  cudaEventRecord(event, streams[1]);  // a later record, on the stream that waits: no deadlock
  cudaDeviceSynchronize();
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
}

TEST_P(SimtRuntime, FaultsComeOutOfTheWait) {
  expect_error(
      [&] {
        fault_on(streams[0]);
        cudaDeviceSynchronize();
      },
      "4 bytes into one of 4");
}

TEST_P(SimtRuntime, DestructorsGetAStatus) {
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, sizeof(int)), cudaSuccess);
  const std::string said = error_of([&] { fault_on(streams[0]); });  // one in four at once, in random order
  EXPECT_EQ(cudaFree(memory), said.empty() ? cudaErrorLaunchFailure : cudaSuccess);
}

TEST_P(SimtRuntime, FreeingWaits) {
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, sizeof(int)), cudaSuccess);
  TRIREME_LAUNCH(set, dim3(1), dim3(1), 0, streams[0], static_cast<int*>(memory), 7);
  cudaMemcpyAsync(a.data(), memory, sizeof(int), cudaMemcpyDeviceToDevice, streams[0]);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(a[0], 7);
  EXPECT_EQ(cudaFree(memory), cudaErrorInvalidValue) << "twice";
}

TEST(SimtRuntimeOrder, WhatIsNotOrderedGoesWrongInSomeOrder) {
  int wrong = 0;
  for (const ThreadOrder& order : thread_orders) {
    use_order(order);
    DeviceBuffer<int> a(1), b(1);
    std::array<cudaStream_t, 2> streams{};
    for (cudaStream_t& s : streams) cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    TRIREME_LAUNCH(set, dim3(1), dim3(1), 0, streams[0], a.data(), 1);
    cudaMemcpyAsync(b.data(), a.data(), sizeof(int), cudaMemcpyDeviceToDevice, streams[1]);
    cudaStreamSynchronize(streams[1]);
    wrong += b[0] != 1;
    for (const cudaStream_t s : streams) cudaStreamDestroy(s);
  }
  options() = {};
  EXPECT_GT(wrong, 0);
}

TEST(SimtRuntimeOrder, NothingHappensBeforeTheWait) {
  options() = {};
  DeviceBuffer<int> a(1);
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  int host = 5;
  cudaMemcpyAsync(a.data(), &host, sizeof host, cudaMemcpyHostToDevice, stream);
  cudaEventRecord(event, stream);
  EXPECT_EQ(a[0], -1) << "0xFF";
  host = 6;  // changed under the copy
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  EXPECT_EQ(a[0], 6) << "the device goes on while the host asks";
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  cudaStreamDestroy(stream);
  cudaEventDestroy(event);
}

TEST(SimtRuntimeErrors, AreNamed) {
  DeviceBuffer<int> a(2);
  int host[4] = {};
  expect_error([&] { cudaMemcpyAsync(a.data(), host, 12, cudaMemcpyHostToDevice, nullptr); }, "12 bytes that are not within one");
  expect_error([&] { cudaMemcpyAsync(host, host, 4, cudaMemcpyDeviceToHost, nullptr); }, "from the device: 4 bytes");
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, 0), cudaErrorInvalidValue) << "blocking streams are not for this program";
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaStreamDestroy(stream);
  expect_error([&] { cudaStreamSynchronize(stream); }, "not a stream");
  expect_error([&] { TRIREME_LAUNCH(set, dim3(1), dim3(2048), 0, nullptr, a.data(), 1); }, "a block of 2048 threads");
}

// ---- sizes of launches
TEST(CudaSizes, BeyondAnIntTheyAreRefused) {
  using namespace kernels::cuda;
  constexpr std::int64_t most = (std::int64_t{1} << 31) - 1;
  EXPECT_EQ(narrow(most), most);
  EXPECT_EQ(grid_size(most), static_cast<unsigned>(most));
  EXPECT_EQ(blocks_of(most * 256, 256), static_cast<unsigned>(most));
  EXPECT_EQ(blocks_of(257, 256), 2u);
  EXPECT_THROW(narrow(most + 1), std::invalid_argument);
  EXPECT_THROW(narrow(-1), std::invalid_argument);
  EXPECT_THROW(grid_size(most + 1), std::invalid_argument);
  EXPECT_THROW(blocks_of(most * 256 + 1, 256), std::invalid_argument);
}

// ---- the GPU as a Device
using CudaDeviceOrders = SimtTest;
TRIREME_IN_EVERY_ORDER(CudaDeviceOrders);

TEST_P(CudaDeviceOrders, CopiesAreOrderedWithKernels) {
  const auto device = kernels::cuda::make_cuda_device(0);
  EXPECT_EQ(device->name(), "simulated GPU");
  EXPECT_EQ(device->target().capability, 90);
  EXPECT_EQ(device->target().multiprocessors, 132);
  {
    kernels::Arena arena(*device, "test");
    const kernels::View x = arena.take(kernels::DType::int32, 3), y = arena.take(kernels::DType::int32, 3);
    const std::vector<std::int32_t> values = {1, 2, 3};
    device->upload(x, values.data());
    TRIREME_LAUNCH(set, dim3(1), dim3(1), 0, device->target().stream, static_cast<int*>(x.data), 5);
    device->copy(y, x);
    device->zero(x.slice(1, 2));
    std::vector<std::int32_t> got(3);
    device->download(got.data(), y);
    EXPECT_EQ(got, (std::vector<std::int32_t>{5, 2, 3}));
    device->download(got.data(), x);
    EXPECT_EQ(got, (std::vector<std::int32_t>{5, 0, 0}));
    EXPECT_THROW(device->copy(x, y.slice(0, 2)), std::logic_error);
  }
  EXPECT_THROW(kernels::cuda::make_cuda_device(1), base::Error);
}

TEST_P(CudaDeviceOrders, AnUploadFromPinnedMemoryDoesNotWait) {
  const auto device = kernels::cuda::make_cuda_device(0), other = kernels::cuda::make_cuda_device(0);
  EXPECT_FALSE(device->is_host());
  kernels::Arena arena(*device, "test");
  const kernels::View x = arena.take(kernels::DType::int32, 2), y = arena.take(kernels::DType::int32, 2);
  const kernels::PinnedMemory pinned(*device, 8);
  auto* host = static_cast<std::int32_t*>(pinned.data());
  EXPECT_EQ(host[0] | host[1], 0);
  host[0] = 3, host[1] = 4;
  const auto before = device->make_event(), after = device->make_event();
  device->synchronize();  // the arena's zeros
  before->record();
  device->upload_later(x, host);
  after->record();
  if (options().order != Order::random) EXPECT_FALSE(after->done()) << "nobody has waited";
  other->order_after(*after);  // on another stream
  other->copy(y, x);
  std::vector<std::int32_t> got(2);
  other->download(got.data(), y);
  EXPECT_EQ(got, (std::vector<std::int32_t>{3, 4}));
  EXPECT_TRUE(before->done() && after->done());
  EXPECT_GE(after->seconds_since(*before), 0);
  EXPECT_LT(after->seconds_since(*before), 60);
}

}  // namespace
}  // namespace trireme::simt
