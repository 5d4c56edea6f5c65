// Device memory for tests: every buffer ends at an unreadable page, begins as NaN, and is known to the simulator, so that an
// access by load, store or cp.async outside all buffers is reported with its source line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace trireme::simt {

/// At least `bytes` bytes, filled with 0xFF, aligned to 16; accesses are allowed to exactly `bytes`.
void* allocate_device(std::size_t bytes);
void release_device(void* memory) noexcept;
/// Whether [memory, memory + bytes) lies in one such buffer
bool is_device_memory(const void* memory, std::size_t bytes);

/// Whether one begins there
bool begins_device_buffer(const void* memory);

/// Bytes that kernels have requested of the buffer since it was allocated
struct Requested {
  std::uint64_t read, written;
};
Requested requested_of(const void* memory);

/// Of the buffers made since `made` was 0 the one that begins an element late, aligned as an element is and no better; -1: none
struct Shift {
  int chosen = -1, made = 0;
};
inline Shift& shift() {
  static Shift instance;
  return instance;
}

template <class T>
class DeviceBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit DeviceBuffer(std::size_t n)
      : shifted_(shift().made++ == shift().chosen ? 1 : 0),
        data_(static_cast<T*>(allocate_device((n + shifted_) * sizeof(T))) + shifted_),
        size_(n) {}
  explicit DeviceBuffer(const std::vector<T>& values) : DeviceBuffer(values.size()) {
    for (std::size_t i = 0; i < size_; ++i) data_[i] = values[i];
  }
  ~DeviceBuffer() { release_device(data_ - shifted_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  T* data() { return data_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  std::vector<T> values() const { return {data_, data_ + size_}; }
  Requested requested() const { return requested_of(data_ - shifted_); }

 private:
  std::size_t shifted_;  // elements
  T* data_;
  std::size_t size_;
};

}  // namespace trireme::simt
