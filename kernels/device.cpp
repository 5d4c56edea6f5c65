#include "kernels/device.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "base/alignment.h"
#include "base/error.h"

namespace trireme::kernels {
namespace {

constexpr std::int64_t block_bytes = 1LL << 21;  // the least that is asked of the device at once: one huge page

const char* name_of(DType type) {
  switch (type) {
    case DType::fp32:
      return "fp32";
    case DType::fp64:
      return "fp64";
    case DType::int32:
      return "int32";
    case DType::int64:
      return "int64";
    case DType::bf16:
      return "bf16";
    case DType::fp16:
      return "fp16";
  }
  return "unknown";
}

template <class T>
T* typed(const View& v, DType type) {
  if (v.type != type) throw std::logic_error(fmt::format("a view of {} read as {}", name_of(v.type), name_of(type)));
  return static_cast<T*>(v.data);
}

}  // namespace

View View::slice(std::int64_t first, std::int64_t n) const {
  if (first < 0 || n < 0 || first > count - n)
    throw std::out_of_range(fmt::format("elements {} .. {} of a view of {}", first, first + n - 1, count));
  return {static_cast<std::byte*>(data) + first * bytes_of(type), n, type};
}

float* View::fp32() const { return typed<float>(*this, DType::fp32); }
double* View::fp64() const { return typed<double>(*this, DType::fp64); }
std::int32_t* View::int32() const { return typed<std::int32_t>(*this, DType::int32); }
std::int64_t* View::int64() const { return typed<std::int64_t>(*this, DType::int64); }

Arena::~Arena() {
  for (const Block& block : blocks_)
    memory_ == Memory::device ? device_.release(block.memory, block.size) : device_.release_pinned(block.memory, block.size);
}

View Arena::take(DType type, std::int64_t count) {
  if (sealed_) throw std::logic_error(fmt::format("arena {} is sealed: {} more elements asked of it", name_, count));
  const std::int64_t bytes = base::aligned_bytes(type, count);
  if (blocks_.empty() || blocks_.back().size - blocks_.back().used < bytes) {
    const std::int64_t size = std::max(bytes, blocks_.empty() && expected_ > 0 ? expected_ : block_bytes);
    try {
      void* memory = memory_ == Memory::device ? device_.allocate(size) : device_.allocate_pinned(size);
      blocks_.push_back({static_cast<std::byte*>(memory), size, 0});
    } catch (const base::Error& error) {
      throw base::Error(error.status(), fmt::format("memory for {}: {}", name_, error.what()));
    }
  }
  Block& block = blocks_.back();
  const View taken{block.memory + block.used, count, type};
  block.used += bytes;
  used_ += bytes;
  return taken;
}

}  // namespace trireme::kernels
