// A step reads the device's memory once, for its record, and waits for the device nowhere else; an evaluation reads its loss.
// Oracle: a device around the CPU's that counts what a device of its own memory would wait for.
#pragma once

#include <gtest/gtest.h>

#include "validation/unit/support/layouts.h"
#include "validation/unit/support/mpi_main.h"
#include "validation/unit/support/small_run.h"

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

inline void expect_one_read(const Layout& layout) {
  std::vector<std::string> values = {"model.dropout=0.1", "run.evaluate_every=1", "run.evaluate_samples=8"};
  for (const std::string& value : layout.overrides()) values.push_back(value);
  Counts counts;
  train::Trainer trainer =
      make_trainer(world(), small_config(world().size(), values), {std::make_unique<CountingDevice>(counts), nullptr});
  EXPECT_GT(counts.waits, 0) << "the count works: weights were uploaded";
  for (int step = 0; step < 2; ++step) {
    counts = {};
    trainer.step(step);
    EXPECT_EQ(counts.reads, 1) << layout.name() << ", step " << step;
    EXPECT_EQ(counts.waits, 0) << layout.name() << ", step " << step;
  }
  counts = {};
  trainer.evaluate();
  EXPECT_EQ(counts.reads, 1) << layout.name();
  EXPECT_EQ(counts.waits, 0) << layout.name();
  counts = {};
  trainer.gradient_norms();
  EXPECT_EQ(counts.reads, 1) << "read when asked for";
}

}  // namespace trireme::test
