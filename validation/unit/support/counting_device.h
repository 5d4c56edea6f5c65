// The CPU's memory and work as a device of its own memory, which counts what the host would wait for.
#pragma once

#include <memory>
#include <string>

#include "kernels/device.h"

namespace trireme::test {

struct Counts {
  int reads = 0, waits = 0;  // downloads; uploads that wait, synchronisations and questions whether an event has come
};

/// The CPU's memory and work
class CountingDevice final : public kernels::Device {
 public:
  explicit CountingDevice(Counts& counts) : counts_(counts) {}
  void* allocate(std::int64_t bytes) override { return cpu_->allocate(bytes); }
  void release(void* memory, std::int64_t bytes) noexcept override { cpu_->release(memory, bytes); }
  void* allocate_pinned(std::int64_t bytes) override { return cpu_->allocate_pinned(bytes); }
  void release_pinned(void* memory, std::int64_t bytes) noexcept override { cpu_->release_pinned(memory, bytes); }
  bool is_host() const override { return false; }
  void zero(kernels::View v) override { cpu_->zero(v); }
  void copy(kernels::View to, kernels::View from) override { cpu_->copy(to, from); }
  void upload(kernels::View to, const void* host) override {
    ++counts_.waits;
    cpu_->upload(to, host);
  }
  void upload_later(kernels::View to, const void* pinned) override { cpu_->upload_later(to, pinned); }
  void download(void* host, kernels::View from) override {
    ++counts_.reads;
    cpu_->download(host, from);
  }
  void download_later(void* pinned, kernels::View from) override { cpu_->download_later(pinned, from); }
  void synchronize() override { ++counts_.waits; }
  std::unique_ptr<kernels::Event> make_event() override {
    ++counts_.waits;
    return cpu_->make_event();
  }
  void order_after(const kernels::Event& event) override { cpu_->order_after(event); }
  std::string name() const override { return "counting"; }

 private:
  Counts& counts_;
  std::unique_ptr<kernels::Device> cpu_ = kernels::make_cpu_device();
};

}  // namespace trireme::test
