// Memory of one device and typed spans of it. The CPU form is host memory, the CUDA form kernels/cuda/device.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"

namespace trireme::kernels {

using base::bytes_of;
using base::DType;

/// A typed span of device memory, or of pinned memory, which the device reaches too. Does not own it. Whether a call reads or
/// writes it stands in that call's contract.
struct View {
  void* data = nullptr;
  std::int64_t count = 0;  // elements
  DType type = DType::fp32;

  std::int64_t bytes() const { return count * bytes_of(type); }
  /// Elements first .. first + n - 1; throws std::out_of_range outside the span.
  View slice(std::int64_t first, std::int64_t n) const;
  explicit operator bool() const { return data != nullptr; }

  /// The elements as pointers, for the host where it reads this memory in place; throw std::logic_error if the type is another.
  float* fp32() const;
  double* fp64() const;
  std::int32_t* int32() const;
  std::int64_t* int64() const;
};

/// A moment in the order of a device's work, the last one recorded. Of the device that made it, which outlives it.
class Event {
 public:
  virtual ~Event() = default;
  /// The moment at which all work given so far is done.
  virtual void record() = 0;
  /// Whether it has come.
  virtual bool done() const = 0;
  /// From `earlier` of the same device to this one, both done.
  virtual double seconds_since(const Event& earlier) const = 0;
};

/// Work is done in the order of the calls. Only what says so waits for it.
class Device {
 public:
  virtual ~Device() = default;
  /// Zeroed memory, aligned to 64 bytes at least. Throws base::Error naming the size when there is none.
  virtual void* allocate(std::int64_t bytes) = 0;
  virtual void release(void* memory, std::int64_t bytes) noexcept = 0;
  /// The same of the host's memory, pinned: copies from and to it need not wait.
  virtual void* allocate_pinned(std::int64_t bytes) = 0;
  virtual void release_pinned(void* memory, std::int64_t bytes) noexcept = 0;
  /// Whether its memory is the host's, read in place, and every call is done when it returns.
  virtual bool is_host() const = 0;
  virtual void zero(View v) = 0;
  /// Equal counts and types.
  virtual void copy(View to, View from) = 0;
  /// Waits: the host's memory may change at once.
  virtual void upload(View to, const void* host) = 0;
  /// Does not wait: `pinned` stays as it is until an event recorded after this is done.
  virtual void upload_later(View to, const void* pinned) = 0;
  /// Waits: the values are there.
  virtual void download(void* host, View from) = 0;
  /// Does not wait: the values are at `pinned` when an event recorded after this is done.
  virtual void download_later(void* pinned, View from) = 0;
  /// Waits until all work given so far is done.
  virtual void synchronize() = 0;
  virtual std::unique_ptr<Event> make_event() = 0;
  /// Work given later starts when `event`, of another device, has come.
  virtual void order_after(const Event& event) = 0;
  virtual std::string name() const = 0;
};

std::unique_ptr<Device> make_cpu_device();

/// Zeroed pinned memory, given back at the end.
class PinnedMemory {
 public:
  PinnedMemory(Device& device, std::int64_t bytes) : device_(device), bytes_(bytes), data_(device.allocate_pinned(bytes)) {}
  ~PinnedMemory() { device_.release_pinned(data_, bytes_); }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  void* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  Device& device_;
  std::int64_t bytes_;
  void* data_;
};

/// Memory of one purpose, taken in pieces before training and freed at once. `peak_bytes` is what summary.json reports.
class Arena {
 public:
  enum class Memory { device, pinned };
  /// `expected`: bytes that will be taken in all, asked of the device at once; more is asked for in further blocks.
  Arena(Device& device, std::string name, std::int64_t expected = 0, Memory memory = Memory::device)
      : device_(device), name_(std::move(name)), expected_(expected), memory_(memory) {}
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Zeroed elements, aligned to 64 bytes. Throws std::logic_error once sealed.
  View take(DType type, std::int64_t count);
  /// From here on a take is a fault: a step allocates nothing.
  void seal() { sealed_ = true; }
  std::int64_t peak_bytes() const { return used_; }
  const std::string& name() const { return name_; }

 private:
  struct Block {
    std::byte* memory;
    std::int64_t size, used;
  };
  Device& device_;
  std::string name_;
  std::int64_t expected_;
  Memory memory_;
  std::vector<Block> blocks_;
  std::int64_t used_ = 0;
  bool sealed_ = false;
};

}  // namespace trireme::kernels
