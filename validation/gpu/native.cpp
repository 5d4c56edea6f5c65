// The kernels' tests on a GPU: the test programs that the simulator runs, linked with what nvcc made of the kernels and with this
// in the simulator's place. No launcher's interface names a type of CUDA, so the same objects serve both. Device buffers are
// memory of both the host and the GPU, and CUDA waits for every launch: tests read results when the launcher returns, and what a
// kernel did wrong is the launch's error.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "kernels/simt/memory.h"

namespace trireme::simt {

void* allocate_device(std::size_t bytes) {
  void* memory = nullptr;
  const std::size_t some = bytes > 0 ? bytes : 1;
  cudaError_t status = cudaMallocManaged(&memory, some);
  if (status != cudaSuccess)
    status = cudaHostAlloc(&memory, some, cudaHostAllocMapped);  // some virtual machines have no managed one
  if (status != cudaSuccess)
    throw std::runtime_error("memory for the host and the GPU: " + std::string(cudaGetErrorString(status)));
  std::memset(memory, 0xFF, some);
  return memory;
}
void release_device(void* memory) noexcept {
  if (cudaFree(memory) != cudaSuccess) cudaFreeHost(memory);
}
Requested requested_of(const void*) { return {0, 0}; }

namespace {

class Skips : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo&) override { GTEST_SKIP() << "needs a GPU of compute capability 9.0"; }
};

int run(int argc, char** argv) {
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  setenv("TRIREME_ON_GPU", "1", 1);
  int devices = 0;
  cudaDeviceProp device{};
  cudaError_t status = cudaGetDeviceCount(&devices);
  if (status == cudaSuccess) status = cudaGetDeviceProperties(&device, 0);
  if (status != cudaSuccess) {
    std::fprintf(stderr, "gpu: no CUDA device: %s\n", cudaGetErrorString(status));
    return 1;
  }
  std::fprintf(stderr, "%s, compute capability %d.%d\n", device.name, device.major, device.minor);
  // What the simulator counts is not counted here, and the order of threads is not ours to choose.
  GTEST_FLAG_SET(filter, "-*Cost*:*/descending:*/random*");
  ::testing::InitGoogleTest(&argc, argv);
  if (std::strstr(argv[0], "_sm90") != nullptr && device.major != 9)
    ::testing::UnitTest::GetInstance()->listeners().Append(new Skips);
  return RUN_ALL_TESTS();
}

}  // namespace
}  // namespace trireme::simt

int main(int argc, char** argv) { return trireme::simt::run(argc, argv); }
