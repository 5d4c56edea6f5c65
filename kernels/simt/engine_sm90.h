// What a CUDA thread may do on Hopper (sm_90a) besides engine.h: mbarriers, TMA, wgmma, the fence between the generic and the
// asynchronous proxy. Shared-memory arguments are checked; errors as in engine.h.
#pragma once

#include <cstdint>

#include "kernels/cuda/instructions/tensor_map.h"
#include "kernels/simt/engine.h"

namespace trireme::simt {

/// Stands for the 128 bytes of a CUtensorMap.
struct TensorMap {
  std::byte* data;
  kernels::ptx::BoxedTensor tensor;
};

// ---- mbarriers, whose state is in their 8 bytes of shared memory
void mbarrier_init(std::uint64_t* barrier, std::uint32_t count, Location where);
/// The inits that the thread made are visible to the asynchronous proxy.
void mbarrier_init_fence();
/// expects `bytes` more, then arrives
void mbarrier_arrive(std::uint64_t* barrier, std::uint32_t bytes, Location where);
/// Whether the phase of that parity is complete; waits for it, in random order sometimes for a while only.
bool mbarrier_try_wait(std::uint64_t* barrier, std::uint32_t parity, Location where);

// ---- TMA
/// The box at `at` (elements, innermost dimension first; outside the tensor: 0). NaN from now on; when the data are there,
/// the barrier is told so.
void tma_load(void* to, const TensorMap& map, std::uint64_t* barrier, const int* at, Location where);
/// What lies outside the tensor is not written. `from` must not change until wait.read of its group.
void tma_store(const TensorMap& map, const int* at, const void* from, Location where);
void tma_store_commit();
/// Until of all but the `pending` last groups of the thread the source was read; and, unless read_only, all is written.
void tma_store_wait(int pending, bool read_only, Location where);

// ---- proxies
/// What the thread wrote to shared memory can be read by TMA stores and wgmma.
void fence_proxy_async(Location where);

// ---- wgmma, by the four warps of a warpgroup, each on its 16 rows and at its own time
struct Wgmma {
  Element element;
  int n;                   // 8 to 256
  float* d;                // n / 2 registers
  const std::uint32_t* a;  // 4 registers; null: descriptor_a
  std::uint64_t descriptor_a, descriptor_b;
  bool a_m_major, b_n_major;  // of the matrices in shared memory; otherwise k-major
  bool accumulate;            // otherwise d begins as 0
};
void wgmma(const Wgmma& product, Location where);
void wgmma_fence(Location where);
void wgmma_commit(Location where);
/// Until at most `pending` of the warp's groups are in flight
void wgmma_wait(int pending, Location where);

// ---- setmaxnreg
/// Each thread of the warp has `registers` from now on: fewer than before.
void give_registers(int registers, Location where);
/// More than before; waits until other warps have given so many.
void take_registers(int registers, Location where);

/// True in one lane of the warp, always the same one
bool elect(std::uint32_t mask, Location where);

}  // namespace trireme::simt
