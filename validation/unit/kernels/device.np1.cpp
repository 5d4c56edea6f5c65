// Views, the CPU device and arenas.
#include "kernels/device.h"

#include <algorithm>
#include <stdexcept>

#include <gtest/gtest.h>

#include "base/error.h"
#include "validation/unit/support/views.h"

// The address sanitizer's allocator ends the program by default where malloc returns null.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace trireme::kernels {
namespace {

using test::view;

TEST(View, SliceAndTypes) {
  std::vector<float> values = {0, 1, 2, 3};
  const View v = view(values);
  EXPECT_EQ(v.bytes(), 16);
  EXPECT_EQ(v.slice(1, 2).fp32(), values.data() + 1);
  EXPECT_EQ(v.slice(4, 0).count, 0);
  EXPECT_THROW(v.slice(3, 2), std::out_of_range);
  EXPECT_THROW(v.slice(-1, 2), std::out_of_range);
  EXPECT_THROW(v.slice(1, -1), std::out_of_range);
  EXPECT_THROW(v.int32(), std::logic_error);
  EXPECT_THROW(v.fp64(), std::logic_error);
  std::vector<std::int64_t> wide = {1, 2};
  EXPECT_EQ(view(wide).slice(1, 1).int64(), wide.data() + 1);
  EXPECT_FALSE(View{});
}

TEST(CpuDevice, Copies) {
  const auto device = make_cpu_device();
  std::vector<float> a = {1, 2, 3}, b(3), c(3);
  device->copy(view(b), view(a));
  EXPECT_EQ(a, b);
  device->download(c.data(), view(b).slice(1, 2));
  EXPECT_EQ(c, (std::vector<float>{2, 3, 0}));
  device->upload(view(a), c.data());
  EXPECT_EQ(a, c);
  device->zero(view(a).slice(0, 1));
  EXPECT_EQ(a, (std::vector<float>{0, 3, 0}));
  EXPECT_THROW(device->copy(view(a), view(b).slice(0, 2)), std::logic_error);
}

TEST(CpuDevice, UploadsFromPinnedMemoryAndEvents) {
  const auto device = make_cpu_device();
  EXPECT_TRUE(device->is_host());
  const PinnedMemory pinned(*device, 12);
  auto* host = static_cast<float*>(pinned.data());
  EXPECT_EQ(std::vector<float>(host, host + 3), (std::vector<float>{0, 0, 0}));
  host[1] = 5;
  std::vector<float> a(3, 1);
  const auto before = device->make_event(), after = device->make_event();
  before->record();
  device->upload_later(view(a), host);
  after->record();
  device->order_after(*after);
  device->synchronize();
  EXPECT_EQ(a, (std::vector<float>{0, 5, 0}));
  EXPECT_TRUE(before->done() && after->done());
  EXPECT_GE(after->seconds_since(*before), 0);
  EXPECT_LT(after->seconds_since(*before), 10);
}

TEST(CpuDevice, NoMemory) {
  const auto device = make_cpu_device();
  EXPECT_THROW(device->allocate(std::int64_t{1} << 60), base::Error);
}

TEST(Arena, WhatGetsNoMemoryIsNamed) {
  const auto device = make_cpu_device();
  Arena arena(*device, "activations");
  try {
    arena.take(DType::fp32, std::int64_t{1} << 58);
    FAIL() << "a quintillion bytes";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), base::Exit::failure);
    EXPECT_NE(std::string(error.what()).find("memory for activations: out of memory"), std::string::npos) << error.what();
  }
}

TEST(Arena, OfPinnedMemory) {
  const auto device = make_cpu_device();
  Arena arena(*device, "pinned", 128, Arena::Memory::pinned);
  const View v = arena.take(DType::fp32, 20);
  EXPECT_TRUE(std::all_of(v.fp32(), v.fp32() + 20, [](float x) { return x == 0; }));
  EXPECT_EQ(arena.peak_bytes(), 128);
}

TEST(Arena, TakesZeroedAlignedDisjointSpans) {
  const auto device = make_cpu_device();
  Arena arena(*device, "test");
  std::vector<View> views;
  std::int64_t bytes = 0;
  for (const std::int64_t count : {1, 17, 100000, 0, 3000000, 5}) {  // within a block, across blocks, above a block
    const View v = arena.take(DType::fp32, count);
    EXPECT_EQ(v.count, count);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(v.data) % 64, 0u);
    EXPECT_TRUE(std::all_of(v.fp32(), v.fp32() + count, [](float x) { return x == 0; }));
    std::fill(v.fp32(), v.fp32() + count, static_cast<float>(views.size() + 1));
    views.push_back(v);
    bytes += (v.bytes() + 63) / 64 * 64;
  }
  for (std::size_t i = 0; i < views.size(); ++i)
    EXPECT_TRUE(
        std::all_of(views[i].fp32(), views[i].fp32() + views[i].count, [&](float x) { return x == static_cast<float>(i + 1); }));
  EXPECT_EQ(arena.peak_bytes(), bytes);
  EXPECT_EQ(arena.name(), "test");
  arena.seal();
  EXPECT_THROW(arena.take(DType::fp64, 1), std::logic_error);
}

}  // namespace
}  // namespace trireme::kernels
