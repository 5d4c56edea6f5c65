// Typed pointers of views for the launchers.
#pragma once

#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/cuda/instructions/ptx.cuh"
#include "kernels/device.h"

namespace trireme::kernels::cuda {

template <class T>
constexpr DType dtype_of() {
  if (std::is_same_v<T, std::int32_t>) return DType::int32;
  if (std::is_same_v<T, double>) return DType::fp64;
  return std::is_same_v<T, bf16> ? DType::bf16 : std::is_same_v<T, fp16> ? DType::fp16 : DType::fp32;
}

/// At least `count` elements of T, or std::logic_error.
template <class T>
T* elements(View view, std::int64_t count) {
  if (view.type != dtype_of<T>() || view.count < count)
    throw std::logic_error("a view of another type, or shorter than its shape");
  return static_cast<T*>(view.data);
}

/// Calls work(T{}) for the compute type T that `type` names.
template <class Work>
void with_type(DType type, const Work& work) {
  switch (type) {
    case DType::bf16:
      return work(bf16{});
    case DType::fp16:
      return work(fp16{});
    case DType::fp32:
      return work(float{});
    default:
      throw std::logic_error("compute types are bf16, fp16 and fp32");
  }
}

/// Calls work(std::true_type{}) or work(std::false_type{}).
template <class Work>
void with_flag(bool flag, const Work& work) {
  flag ? work(std::true_type{}) : work(std::false_type{});
}

template <class... Pointers>
bool aligned16(const Pointers*... p) {
  return ((reinterpret_cast<std::uintptr_t>(p) % 16 == 0) && ...);
}

/// n as an int, or std::invalid_argument: sizes are 64 bits wide on the host, most of them 32 in a kernel.
inline int narrow(std::int64_t n) {
  if (n < 0 || n > std::numeric_limits<int>::max())
    throw std::invalid_argument("a kernel takes sizes below 2^31, not " + std::to_string(n));
  return static_cast<int>(n);
}
/// n as a dimension of a grid, or std::invalid_argument
inline unsigned grid_size(std::int64_t n) { return static_cast<unsigned>(narrow(n)); }
/// How many blocks of `each` cover n
inline unsigned blocks_of(std::int64_t n, std::int64_t each) { return grid_size((n + each - 1) / each); }

}  // namespace trireme::kernels::cuda
