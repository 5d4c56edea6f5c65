// The door of kernels/cuda/instructions/ptx.cuh on the side of the simulator.
#pragma once

#include "kernels/simt/cuda.h"

#define TRIREME_SHARED(T, name, n) \
  static char name##_key;          \
  T(&name)[n] = *static_cast<T(*)[n]>(::trireme::simt::static_shared(&name##_key, sizeof(T) * (n), alignof(T)))
#define TRIREME_DYNAMIC_SHARED(name, most) TRIREME_ALIGNED_SHARED(name, most, 128)
#define TRIREME_ALIGNED_SHARED(name, most, alignment) \
  auto* name = static_cast<unsigned char*>(::trireme::simt::dynamic_shared(most, alignment))
#define TRIREME_KERNEL(bounds, name, ...) void name(::trireme::simt::TRIREME_BOUNDS bounds, __VA_ARGS__)
#define TRIREME_BOUNDS(...) Bounds<__VA_ARGS__>
#define TRIREME_SHARED_LIMIT ::trireme::simt::shared_bytes_sm80
#define TRIREME_LAUNCH(kernel, grid, block, shared_bytes, stream, ...) \
  ::trireme::simt::launch<TRIREME_SHARED_LIMIT>(#kernel, &kernel, grid, block, shared_bytes, stream, __VA_ARGS__)

namespace trireme::kernels::ptx {

using simt::Location;

/// A value of 1, 2, 4, 8 or 16 bytes, in one access to global or shared memory
template <class V>
V load(const void* from, Location where = Location::current()) {
  static_assert(sizeof(V) <= 16 && (sizeof(V) & (sizeof(V) - 1)) == 0 && std::is_trivially_copyable_v<V>);
  simt::check_access(from, sizeof(V), false, where);
  V value;
  std::memcpy(&value, from, sizeof(V));
  return value;
}
template <class V>
void store(void* to, const V& value, Location where = Location::current()) {
  static_assert(sizeof(V) <= 16 && (sizeof(V) & (sizeof(V) - 1)) == 0 && std::is_trivially_copyable_v<V>);
  simt::check_access(to, sizeof(V), true, where);
  std::memcpy(to, &value, sizeof(V));
}

/// Barrier `id` for `threads` threads, a multiple of 32; arrive does not wait.
inline void barrier_sync(int id, int threads, Location where = Location::current()) { simt::barrier_sync(id, threads, where); }
inline void barrier_arrive(int id, int threads, Location where = Location::current()) {
  simt::barrier_arrive(id, threads, where);
}

/// Begins a copy of 4, 8 or 16 bytes to shared memory; of the source only source_bytes are read, the rest becomes 0.
template <int bytes>
void cp_async(void* to, const void* from, int source_bytes = bytes, Location where = Location::current()) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16);
  simt::copy_async(to, from, bytes, source_bytes, where);
}
/// The copies that the thread began since the last one form a group.
inline void cp_async_commit() { simt::copy_async_commit(); }
/// Until at most `pending` of the thread's groups are under way; others see the data after a barrier.
template <int pending>
void cp_async_wait() {
  simt::copy_async_wait(pending);
}

/// 8 x 8 matrices of 2-byte elements; lane 8 i + j gives the address of row j of matrix i, and gets in r[i] elements
/// 2 (lane % 4) and the next one of row lane / 4 (transposed: of column lane / 4).
template <int count>
void ldmatrix(std::uint32_t (&r)[count], const void* row, Location where = Location::current()) {
  static_assert(count == 1 || count == 2 || count == 4);
  simt::load_matrices(r, count, false, row, where);
}
template <int count>
void ldmatrix_transposed(std::uint32_t (&r)[count], const void* row, Location where = Location::current()) {
  static_assert(count == 1 || count == 2 || count == 4);
  simt::load_matrices(r, count, true, row, where);
}

/// d [16, 8] += a [16, 16] b [16, 8] over a warp; T is bf16 or fp16
template <class T>
void mma_m16n8k16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], Location where = Location::current()) {
  static_assert(std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, __half>);
  simt::multiply_matrices(std::is_same_v<T, __half> ? simt::Element::fp16 : simt::Element::bf16, d, a, b, where);
}

/// 2^x and 1/x, to 2 units in the last place; here exact ones
inline float exp2_approx(float x) { return std::exp2(x); }
inline float reciprocal_approx(float x) { return 1.0f / x; }

}  // namespace trireme::kernels::ptx
