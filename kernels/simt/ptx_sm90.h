// The door of kernels/cuda/instructions/ptx_sm90.cuh on the side of the simulator.
#pragma once

#include "kernels/simt/engine_sm90.h"
#include "kernels/simt/ptx.h"

#define __grid_constant__
#undef TRIREME_SHARED_LIMIT
#define TRIREME_SHARED_LIMIT ::trireme::simt::dynamic_shared_bytes
#define TRIREME_TILES_SHARED(name, most) TRIREME_ALIGNED_SHARED(name, most, 1024)

namespace trireme::kernels::ptx {

using simt::TensorMap;

/// On the host: the boxes of a tensor of 2 to 4 dimensions, innermost first; size and box of all, stride in elements of
/// dimensions 1 and up. Throws std::invalid_argument.
template <class T, int rank>
TensorMap make_tensor_map(const T* data, const std::int64_t (&size)[rank], const std::int64_t (&stride)[rank - 1],
                          const int (&box)[rank], Swizzle swizzle) {
  return {reinterpret_cast<std::byte*>(const_cast<T*>(data)), boxed_tensor(data, size, stride, box, swizzle)};
}

/// `count` arrivals end a phase. One thread does this, then mbarrier_init_fence; the others need a barrier after it.
inline void mbarrier_init(std::uint64_t* barrier, int count, Location where = Location::current()) {
  simt::mbarrier_init(barrier, static_cast<std::uint32_t>(count), where);
}
inline void mbarrier_init_fence() { simt::mbarrier_init_fence(); }
inline void mbarrier_arrive(std::uint64_t* barrier, Location where = Location::current()) {
  simt::mbarrier_arrive(barrier, 0, where);
}
/// Arrives; the phase also waits for so many bytes of TMA loads.
inline void mbarrier_arrive_expect(std::uint64_t* barrier, int bytes, Location where = Location::current()) {
  simt::mbarrier_arrive(barrier, static_cast<std::uint32_t>(bytes), where);
}
/// Until the phase of this parity is complete: 0, 1, 0, ... from the first on. So a wait with parity 1 passes before any arrival.
/// One that never ends ends the launch: here at once or by Options::block_seconds, on a GPU by a trap after ten seconds.
inline void mbarrier_wait(std::uint64_t* barrier, int parity, Location where = Location::current()) {
  while (!simt::mbarrier_try_wait(barrier, static_cast<std::uint32_t>(parity), where)) {
  }
}
/// The same for a limited time; whether the phase is complete.
inline bool mbarrier_try_wait(std::uint64_t* barrier, int parity, Location where = Location::current()) {
  return simt::mbarrier_try_wait(barrier, static_cast<std::uint32_t>(parity), where);
}

/// One thread begins to bring a box to shared memory, from `at` (elements, innermost dimension first); what lies outside the
/// tensor is 0. The barrier gets the bytes of the whole box.
template <int rank>
void tma_load(void* to, const TensorMap& map, std::uint64_t* barrier, const int (&at)[rank],
              Location where = Location::current()) {
  if (rank != map.tensor.rank) simt::fail("a tensor map of another rank", where);
  simt::tma_load(to, map, barrier, at, where);
}
/// One thread begins to take a box from shared memory; what lies outside the tensor is left alone.
template <int rank>
void tma_store(const TensorMap& map, const int (&at)[rank], const void* from, Location where = Location::current()) {
  if (rank != map.tensor.rank) simt::fail("a tensor map of another rank", where);
  simt::tma_store(map, at, from, where);
}
/// The stores that the thread began since the last one form a group.
inline void tma_store_commit() { simt::tma_store_commit(); }
/// Until all but the `pending` last groups of the thread have read shared memory, or have written all
template <int pending>
void tma_store_wait_read(Location where = Location::current()) {
  simt::tma_store_wait(pending, true, where);
}
template <int pending>
void tma_store_wait(Location where = Location::current()) {
  simt::tma_store_wait(pending, false, where);
}

/// What the thread wrote to shared memory becomes visible to TMA stores and wgmma; others than the thread need a barrier besides.
inline void fence_proxy_async(Location where = Location::current()) { simt::fence_proxy_async(where); }

/// Of a tile in shared memory with the 128-byte swizzle, which begins at a multiple of 1024 bytes (or of 32 into its first row).
/// k-major, rows of 64 elements of k: `stride` bytes from 8 rows to the next 8, leading is not used. m- or n-major, rows of 64
/// elements of m or n: `stride` bytes from 8 k to the next 8, `leading` from 64 m or n to the next 64.
inline std::uint64_t wgmma_descriptor(const void* tile, int stride, int leading = 16, Location where = Location::current()) {
  const std::uint64_t address = simt::shared_address(tile, 16, where) & 0x3ffff;
  return address >> 4 | std::uint64_t(leading >> 4) << 16 | std::uint64_t(stride >> 4) << 32 | std::uint64_t{1} << 62;
}

/// Before a warp's first wgmma, and after registers of accumulators or of A were touched
inline void wgmma_fence(Location where = Location::current()) { simt::wgmma_fence(where); }
/// Registers of accumulators or of A: what the source does with them before or after this, the compiler may not move across.
/// Before wgmma_fence for those that were written, after wgmma_wait for those that are read; nothing else tells it. Not seen
/// here.
template <class R, int n>
void wgmma_fence_operand(R (&)[n]) {}
/// The wgmma that the warp began since the last one form a group.
inline void wgmma_commit(Location where = Location::current()) { simt::wgmma_commit(where); }
/// Until at most `pending` of the warp's groups are in flight: of its own rows only, the other warps of the warpgroup may be
/// late.
template <int pending>
void wgmma_wait(Location where = Location::current()) {
  simt::wgmma_wait(pending, where);
}

namespace detail {
template <class T, bool a_m_major, bool b_n_major, int n>
void wgmma(float (&d)[n], const std::uint32_t* a, std::uint64_t descriptor_a, std::uint64_t descriptor_b, bool accumulate,
           Location where) {
  static_assert(std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, __half>);
  static_assert(n % 4 == 0 && n <= 128, "n / 2 registers for n columns, a multiple of 8 up to 256");
  const auto element = std::is_same_v<T, __half> ? simt::Element::fp16 : simt::Element::bf16;
  simt::wgmma({element, 2 * n, d, a, descriptor_a, descriptor_b, a_m_major, b_n_major, accumulate}, where);
}
}  // namespace detail

/// d [64, 2 registers] = a [64, 16] b [16, 2 registers], plus d when accumulate, over a warpgroup; T is bf16 or fp16. Register
/// 4 j + 2 h + e of lane l of warp w: row 16 w + l / 4 + 8 h, column 8 j + 2 (l % 4) + e.
template <class T, bool a_m_major = false, bool b_n_major = false, int registers>
void wgmma(float (&d)[registers], std::uint64_t a, std::uint64_t b, bool accumulate, Location where = Location::current()) {
  detail::wgmma<T, a_m_major, b_n_major>(d, nullptr, a, b, accumulate, where);
}
/// a from registers, fragments as those of mma_m16n8k16; they must live, unchanged, until the wait: wgmma_fence_operand after it
/// says so to the compiler.
template <class T, bool b_n_major = false, int registers>
void wgmma(float (&d)[registers], const std::uint32_t (&a)[4], std::uint64_t b, bool accumulate,
           Location where = Location::current()) {
  detail::wgmma<T, false, b_n_major>(d, a, 0, b, accumulate, where);
}

/// True in one lane of the converged warp
inline bool elect(Location where = Location::current()) { return simt::elect(~0u, where); }
/// Registers of each thread of the warpgroup from now on. A warpgroup that takes waits until others have given enough: the sum
/// over all threads must not exceed what the kernel was launched with, which its launch bounds say.
template <int registers>
void give_registers(Location where = Location::current()) {
  static_assert(registers % 8 == 0 && registers >= 24 && registers <= 256);
  simt::give_registers(registers, where);
}
template <int registers>
void take_registers(Location where = Location::current()) {
  static_assert(registers % 8 == 0 && registers >= 24 && registers <= 256);
  simt::take_registers(registers, where);
}

}  // namespace trireme::kernels::ptx
