// The door of ptx_sm90.cuh on the side of the CUDA compiler. Each function has its twin in kernels/simt/ptx_sm90.h, where the
// contract is. wgmma itself is in wgmma_nvcc.cuh.
#pragma once

#include <cuda.h>

#include "kernels/cuda/instructions/ptx_nvcc.cuh"
#include "kernels/cuda/instructions/tensor_map.h"

#define TRIREME_TILES_SHARED(name, most) \
  TRIREME_SHARED_BYTES(most);            \
  extern __shared__ __align__(1024) unsigned char name[]

namespace trireme::kernels::ptx {

using TensorMap = CUtensorMap;

/// From the driver that the runtime has loaded, so that no program is linked to libcuda.
inline auto tensor_map_encoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found) != cudaSuccess ||
      found != cudaDriverEntryPointSuccess)
    throw std::runtime_error("the CUDA driver has no cuTensorMapEncodeTiled: it must be of CUDA 12 or later");
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
}

template <class T, int rank>
TensorMap make_tensor_map(const T* data, const std::int64_t (&size)[rank], const std::int64_t (&stride)[rank - 1],
                          const int (&box)[rank], Swizzle swizzle) {
  static const auto encode = tensor_map_encoder();
  const BoxedTensor t = boxed_tensor(data, size, stride, box, swizzle);
  const auto type = std::is_same_v<T, __nv_bfloat16> ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                    : std::is_same_v<T, __half>      ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                                     : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  static_assert(std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, __half> || std::is_same_v<T, float>);
  const cuuint64_t sizes[4] = {t.size[0], t.size[1], t.size[2], t.size[3]}, strides[3] = {t.stride[0], t.stride[1], t.stride[2]};
  const cuuint32_t steps[4] = {1, 1, 1, 1};
  TensorMap map;
  const CUresult status =
      encode(&map, type, rank, const_cast<T*>(data), sizes, strides, t.box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
             swizzle == Swizzle::none ? CU_TENSOR_MAP_SWIZZLE_NONE : CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS) throw std::runtime_error("cuTensorMapEncodeTiled: error " + std::to_string(status));
  return map;
}

__device__ __forceinline__ void mbarrier_init(std::uint64_t* barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}
__device__ __forceinline__ void mbarrier_init_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ __forceinline__ void mbarrier_arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
__device__ __forceinline__ void mbarrier_arrive_expect(std::uint64_t* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
}
__device__ __forceinline__ bool mbarrier_try_wait(std::uint64_t* barrier, int parity) {
  int complete;
  asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.s32 %0, 1, 0, p;\n}"
               : "=r"(complete)
               : "r"(shared_address(barrier)), "r"(parity)
               : "memory");
  return complete != 0;
}
constexpr std::uint64_t longest_wait = 10'000'000'000;  // nanoseconds
__device__ __forceinline__ void mbarrier_wait(std::uint64_t* barrier, int parity) {
  for (std::uint64_t begun = 0; !mbarrier_try_wait(barrier, parity);) {
    std::uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    if (begun == 0) begun = now;
    if (now - begun > longest_wait) asm volatile("trap;");
  }
}

template <int rank>
__device__ __forceinline__ void tma_load(void* to, const TensorMap& map, std::uint64_t* barrier, const int (&at)[rank]) {
  static_assert(rank >= 2 && rank <= 4);
  const unsigned target = shared_address(to), told = shared_address(barrier);
  if constexpr (rank == 2)
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(target),
        "l"(&map), "r"(told), "r"(at[0]), "r"(at[1])
        : "memory");
  else if constexpr (rank == 3)
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(
            target),
        "l"(&map), "r"(told), "r"(at[0]), "r"(at[1]), "r"(at[2])
        : "memory");
  else
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(
            target),
        "l"(&map), "r"(told), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3])
        : "memory");
}
template <int rank>
__device__ __forceinline__ void tma_store(const TensorMap& map, const int (&at)[rank], const void* from) {
  static_assert(rank >= 2 && rank <= 4);
  const unsigned source = shared_address(from);
  if constexpr (rank == 2)
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map), "r"(source),
                 "r"(at[0]), "r"(at[1])
                 : "memory");
  else if constexpr (rank == 3)
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map), "r"(source),
                 "r"(at[0]), "r"(at[1]), "r"(at[2])
                 : "memory");
  else
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(&map), "r"(source),
                 "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3])
                 : "memory");
}
__device__ __forceinline__ void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int pending>
__device__ __forceinline__ void tma_store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}
template <int pending>
__device__ __forceinline__ void tma_store_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(pending) : "memory");
}

__device__ __forceinline__ void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ __forceinline__ std::uint64_t wgmma_descriptor(const void* tile, int stride, int leading = 16) {
  return std::uint64_t{(shared_address(tile) & 0x3ffff) >> 4} | std::uint64_t(leading >> 4) << 16 |
         std::uint64_t(stride >> 4) << 32 | std::uint64_t{1} << 62;
}
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
template <class R, int n>
__device__ __forceinline__ void wgmma_fence_operand(R (&registers)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i)
    if constexpr (std::is_same_v<R, float>)
      asm volatile("" : "+f"(registers[i])::"memory");
    else
      asm volatile("" : "+r"(registers[i])::"memory");
}
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int pending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

__device__ __forceinline__ bool elect() {
  int leader;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.s32 %0, 1, 0, p;\n}" : "=r"(leader)::"memory");
  return leader != 0;
}
template <int registers>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}
template <int registers>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

}  // namespace trireme::kernels::ptx

#include "kernels/cuda/instructions/wgmma_nvcc.cuh"
