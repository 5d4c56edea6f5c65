#include "kernels/cuda/device.h"

#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

#include "base/error.h"
#include "kernels/cuda/runtime.h"

namespace trireme::kernels::cuda {
namespace {

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) base::fail("GPU: {}: {}", what, cudaGetErrorString(status));
}

class GpuEvent final : public Event {
 public:
  explicit GpuEvent(cudaStream_t stream) : stream_(stream) { check(cudaEventCreateWithFlags(&event_, 0), "making an event"); }
  ~GpuEvent() override { cudaEventDestroy(event_); }
  GpuEvent(const GpuEvent&) = delete;
  GpuEvent& operator=(const GpuEvent&) = delete;

  void record() override { check(cudaEventRecord(event_, stream_), "recording an event"); }
  bool done() const override {
    const cudaError_t status = cudaEventQuery(event_);
    if (status != cudaErrorNotReady) check(status, "asking for an event");
    return status == cudaSuccess;
  }
  double seconds_since(const Event& earlier) const override {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, static_cast<const GpuEvent&>(earlier).event_, event_), "measuring time");
    return static_cast<double>(milliseconds) / 1000;
  }
  cudaEvent_t get() const { return event_; }

 private:
  cudaStream_t stream_;
  cudaEvent_t event_ = nullptr;
};

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
  void* allocate_pinned(std::int64_t bytes) override {
    void* memory = nullptr;
    if (cudaMallocHost(&memory, static_cast<std::size_t>(bytes)) != cudaSuccess)
      base::fail("out of pinned memory: {} bytes asked for", bytes);
    if (bytes > 0) std::memset(memory, 0, static_cast<std::size_t>(bytes));
    return memory;
  }
  void release_pinned(void* memory, std::int64_t) noexcept override { cudaFreeHost(memory); }
  bool is_host() const override { return false; }
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
    upload_later(to, host);
    synchronize();
  }
  void upload_later(View to, const void* pinned) override { move(to.data, pinned, to.bytes(), cudaMemcpyHostToDevice); }
  void download(void* host, View from) override {
    download_later(host, from);
    synchronize();
  }
  void download_later(void* pinned, View from) override { move(pinned, from.data, from.bytes(), cudaMemcpyDeviceToHost); }
  void synchronize() override { check(cudaStreamSynchronize(stream_), "waiting for the stream"); }
  std::unique_ptr<Event> make_event() override { return std::make_unique<GpuEvent>(stream_); }
  void order_after(const Event& event) override {
    check(cudaStreamWaitEvent(stream_, static_cast<const GpuEvent&>(event).get(), 0), "ordering after an event");
  }
  std::string name() const override { return properties().name; }
  int index() const override { return index_; }
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
