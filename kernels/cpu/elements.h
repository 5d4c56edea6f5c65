// Elements of the compute types in memory. On the CPU the types of 2 bytes are storage: they are read as fp32, worked on in fp32,
// and written rounded to nearest.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <type_traits>

#include <fmt/format.h>

#include "base/half.h"
#include "kernels/cpu/simd.h"
#include "kernels/device.h"

namespace trireme::kernels {

struct Bf16 {
  std::uint16_t bits;
};
struct Fp16 {
  std::uint16_t bits;
};

TRIREME_INLINE float load(const float* p) { return *p; }
TRIREME_INLINE float load(const Bf16* p) { return base::from_bf16(p->bits); }
TRIREME_INLINE float load(const Fp16* p) { return base::from_fp16(p->bits); }
TRIREME_INLINE void store(float* p, float x) { *p = x; }
TRIREME_INLINE void store(Bf16* p, float x) { p->bits = base::to_bf16(x); }
TRIREME_INLINE void store(Fp16* p, float x) { p->bits = base::to_fp16(x); }

template <class T>
constexpr bool is_fp32 = std::is_same_v<T, float>;

template <class T>
constexpr DType dtype_of() {
  if (std::is_same_v<T, double>) return DType::fp64;
  if (std::is_same_v<T, std::int32_t>) return DType::int32;
  return std::is_same_v<T, Bf16> ? DType::bf16 : std::is_same_v<T, Fp16> ? DType::fp16 : DType::fp32;
}

/// Those of a view of T that must hold `count` of them at least; else std::logic_error.
template <class T>
T* elements(const View& view, std::int64_t count) {
  if (view.type != dtype_of<T>()) throw std::logic_error("a view of another type than its operation takes");
  if (view.count < count) throw std::logic_error(fmt::format("a view of {} elements where {} are needed", view.count, count));
  return static_cast<T*>(view.data);
}

/// Calls work(T{}) for the compute type T that `type` names.
template <class Work>
void with_type(DType type, const Work& work) {
  switch (type) {
    case DType::fp32:
      return work(float{});
    case DType::bf16:
      return work(Bf16{});
    case DType::fp16:
      return work(Fp16{});
    default:
      throw std::logic_error("compute types are bf16, fp16 and fp32");
  }
}

}  // namespace trireme::kernels
