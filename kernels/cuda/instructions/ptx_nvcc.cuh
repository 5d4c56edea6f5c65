// The door of ptx.cuh on the side of the CUDA compiler. Each function has its twin in kernels/simt/ptx.h, where the contract is.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define TRIREME_SHARED(T, name, n) __shared__ T name[n]
#define TRIREME_DYNAMIC_SHARED(name, most) \
  TRIREME_SHARED_BYTES(most);              \
  extern __shared__ __align__(128) unsigned char name[]
#define TRIREME_SHARED_BYTES(most) asm volatile("// dynamic_shared_bytes %0" ::"n"(static_cast<int>(most)))
#define TRIREME_KERNEL(bounds, name, ...) __global__ void __launch_bounds__ bounds name(__VA_ARGS__)
#define TRIREME_LAUNCH(kernel, grid, block, shared_bytes, stream, ...) \
  ::trireme::kernels::ptx::launch(#kernel, &kernel, grid, block, shared_bytes, stream, __VA_ARGS__)

namespace trireme::kernels::ptx {

template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream,
            Arguments&&... arguments) {
  cudaError_t status = cudaSuccess;
  if (shared_bytes > 0)  // 48 KiB need no asking, but of static and dynamic memory together
    status = cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(shared_bytes));
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  if (status == cudaSuccess) status = cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
  if (status != cudaSuccess) throw std::runtime_error(std::string("launch of ") + name + ": " + cudaGetErrorString(status));
}

template <std::size_t bytes>
using Word = std::conditional_t<
    bytes == 16, uint4,
    std::conditional_t<bytes == 8, uint2,
                       std::conditional_t<bytes == 4, unsigned, std::conditional_t<bytes == 2, unsigned short, unsigned char>>>>;

template <class V>
__device__ __forceinline__ V load(const void* from) {
  const auto word = *static_cast<const Word<sizeof(V)>*>(from);
  V value;
  memcpy(&value, &word, sizeof(V));
  return value;
}
template <class V>
__device__ __forceinline__ void store(void* to, const V& value) {
  Word<sizeof(V)> word;
  memcpy(&word, &value, sizeof(V));
  *static_cast<Word<sizeof(V)>*>(to) = word;
}

__device__ __forceinline__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

__device__ __forceinline__ void barrier_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ void barrier_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

template <int bytes>
__device__ __forceinline__ void cp_async(void* to, const void* from, int source_bytes = bytes) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16);
  if constexpr (bytes == 16)  // past the first-level cache
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(source_bytes)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(shared_address(to)), "l"(from), "r"(source_bytes),
                 "n"(bytes)
                 : "memory");
}
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int pending>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

template <int count>
__device__ __forceinline__ void ldmatrix(std::uint32_t (&r)[count], const void* row) {
  static_assert(count == 1 || count == 2 || count == 4);
  const unsigned from = shared_address(row);
  if constexpr (count == 1)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(from) : "memory");
  else if constexpr (count == 2)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(from) : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(from)
                 : "memory");
}
template <int count>
__device__ __forceinline__ void ldmatrix_transposed(std::uint32_t (&r)[count], const void* row) {
  static_assert(count == 1 || count == 2 || count == 4);
  const unsigned from = shared_address(row);
  if constexpr (count == 1)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(from) : "memory");
  else if constexpr (count == 2)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(from) : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(from)
                 : "memory");
}

template <class T>
__device__ __forceinline__ void mma_m16n8k16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float reciprocal_approx(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace trireme::kernels::ptx
