#include "kernels/cuda/device.h"

#include <fmt/format.h>

#include <stdexcept>

#include "base/error.h"
#include "kernels/cuda/runtime.h"

namespace trireme::kernels::cuda {
namespace {

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) base::fail("GPU: {}: {}", what, cudaGetErrorString(status));
}

class Gpu final : public CudaDevice {
 public:
  explicit Gpu(int index) : index_(index) {
    int count = 0;
    check(cudaGetDeviceCount(&count), "counting the devices");
    if (index < 0 || index >= count) base::fail("no GPU {}: this host has {}", index, count);
    check(cudaSetDevice(index), "choosing the device");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
  }
  ~Gpu() override { cudaStreamDestroy(stream_); }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  void* allocate(std::int64_t bytes) override {
    void* memory = nullptr;
    if (cudaMalloc(&memory, static_cast<std::size_t>(bytes)) != cudaSuccess)
      base::fail("out of memory on the GPU: {} bytes asked for", bytes);
    check(cudaMemsetAsync(memory, 0, static_cast<std::size_t>(bytes), stream_), "zeroing memory");
    return memory;
  }
  void release(void* memory, std::int64_t) noexcept override { cudaFree(memory); }
  void zero(View v) override {
    if (v.count > 0) check(cudaMemsetAsync(v.data, 0, static_cast<std::size_t>(v.bytes()), stream_), "zeroing memory");
  }
  void copy(View to, View from) override {
    if (to.count != from.count || to.type != from.type)
      throw std::logic_error(
          fmt::format("copy of {} elements ({} bytes) to {} ({} bytes)", from.count, from.bytes(), to.count, to.bytes()));
    move(to.data, from.data, to.bytes(), cudaMemcpyDeviceToDevice);
  }
  void upload(View to, const void* host) override {
    move(to.data, host, to.bytes(), cudaMemcpyHostToDevice);
    synchronize();
  }
  void download(void* host, View from) override {
    move(host, from.data, from.bytes(), cudaMemcpyDeviceToHost);
    synchronize();
  }
  void synchronize() override { check(cudaStreamSynchronize(stream_), "waiting for the stream"); }
  std::string name() const override { return properties().name; }
  Target target() const override {
    const cudaDeviceProp gpu = properties();
    return {stream_, 10 * gpu.major + gpu.minor, gpu.multiProcessorCount};
  }

 private:
  cudaDeviceProp properties() const {
    cudaDeviceProp properties = {};
    check(cudaGetDeviceProperties(&properties, index_), "asking for the device's properties");
    return properties;
  }
  void move(void* to, const void* from, std::int64_t bytes, cudaMemcpyKind kind) {
    if (bytes > 0) check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), kind, stream_), "copying");
  }
  int index_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace

std::unique_ptr<CudaDevice> make_cuda_device(int index) { return std::make_unique<Gpu>(index); }

}  // namespace trireme::kernels::cuda
