// Memory of one device and typed spans of it. The CPU form is host memory, the CUDA form kernels/cuda/device.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace trireme::kernels {

enum class DType : std::uint8_t { fp32, fp64, int32, int64, bf16, fp16 };

constexpr std::int64_t bytes_of(DType type) {
  return type == DType::fp64 || type == DType::int64 ? 8 : type == DType::bf16 || type == DType::fp16 ? 2 : 4;
}

/// A typed span of device memory. Does not own it. Whether a call reads or writes it stands in that call's contract.
struct View {
  void* data = nullptr;
  std::int64_t count = 0;  // elements
  DType type = DType::fp32;

  std::int64_t bytes() const { return count * bytes_of(type); }
  /// Elements first .. first + n - 1; throws std::out_of_range outside the span.
  View slice(std::int64_t first, std::int64_t n) const;
  explicit operator bool() const { return data != nullptr; }

  /// The elements as host pointers; throw std::logic_error if the type is another.
  float* fp32() const;
  double* fp64() const;
  std::int32_t* int32() const;
  std::int64_t* int64() const;
};

class Device {
 public:
  virtual ~Device() = default;
  /// Zeroed memory, aligned to 64 bytes at least. Throws base::Error naming the size when there is none.
  virtual void* allocate(std::int64_t bytes) = 0;
  virtual void release(void* memory, std::int64_t bytes) noexcept = 0;
  virtual void zero(View v) = 0;
  /// Equal counts and types.
  virtual void copy(View to, View from) = 0;
  virtual void upload(View to, const void* host) = 0;
  virtual void download(void* host, View from) = 0;
  /// Returns when all work given so far is done.
  virtual void synchronize() = 0;
  virtual std::string name() const = 0;
};

std::unique_ptr<Device> make_cpu_device();

/// Memory of one purpose, taken in pieces before training and freed at once. `peak_bytes` is what summary.json reports.
class Arena {
 public:
  /// `expected`: bytes that will be taken in all, asked of the device at once; more is asked for in further blocks.
  Arena(Device& device, std::string name, std::int64_t expected = 0)
      : device_(device), name_(std::move(name)), expected_(expected) {}
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
  std::vector<Block> blocks_;
  std::int64_t used_ = 0;
  bool sealed_ = false;
};

}  // namespace trireme::kernels
