#include "kernels/cuda/instructions/ptx.cuh"
#include "validation/conformance/conformance.h"

namespace trireme::kernels::cuda {
namespace {

constexpr int shared_bytes = 1024;
constexpr int matrix_words = 256;  // four matrices of 8 x 8 elements of 2 bytes, one after the other

/// All four matrices in shared memory, by one warp
__device__ void fetch_matrices(const std::uint32_t* in, unsigned char* tiles) {
  for (int i = threadIdx.x; i < matrix_words; i += 32) ptx::store(tiles + 4 * i, ptx::load<std::uint32_t>(in + i));
  __syncwarp();
}

/// out [32, count]: registers of each lane
template <int count, bool transposed>
__global__ void ldmatrix(const std::uint32_t* in, std::uint32_t* out) {
  TRIREME_DYNAMIC_SHARED(tiles, shared_bytes);
  fetch_matrices(in, tiles);
  std::uint32_t r[count];
  const int lane = threadIdx.x;
  if constexpr (transposed)
    ptx::ldmatrix_transposed(r, tiles + 16 * (lane % (8 * count)));
  else
    ptx::ldmatrix(r, tiles + 16 * (lane % (8 * count)));
#pragma unroll
  for (int i = 0; i < count; ++i) ptx::store(out + count * lane + i, r[i]);
}

/// in: a [32, 4], b [32, 2], d [32, 4] as registers of each lane; out [32, 4] fp32
template <class T>
__global__ void mma(const std::uint32_t* in, std::uint32_t* out) {
  std::uint32_t a[4], b[2];
  float d[4];
  const int lane = threadIdx.x;
#pragma unroll
  for (int i = 0; i < 4; ++i) a[i] = ptx::load<std::uint32_t>(in + 4 * lane + i);
#pragma unroll
  for (int i = 0; i < 2; ++i) b[i] = ptx::load<std::uint32_t>(in + 128 + 2 * lane + i);
#pragma unroll
  for (int i = 0; i < 4; ++i) d[i] = ptx::load<float>(in + 192 + 4 * lane + i);
  ptx::mma_m16n8k16<T>(d, a, b);
#pragma unroll
  for (int i = 0; i < 4; ++i) ptx::store(out + 4 * lane + i, d[i]);
}

/// Lane i copies `bytes` bytes of which i % (bytes + 1) are of the source; out [32, bytes / 4]
template <int bytes>
__global__ void cp_async(const std::uint32_t* in, std::uint32_t* out) {
  TRIREME_DYNAMIC_SHARED(to, shared_bytes);
  const int lane = threadIdx.x;
  ptx::cp_async<bytes>(to + bytes * lane, in + bytes / 4 * lane, lane % (bytes + 1));
  ptx::cp_async_commit();
  ptx::cp_async_wait<0>();
  __syncwarp();
  for (int i = lane; i < 8 * bytes; i += 32) ptx::store(out + i, ptx::load<std::uint32_t>(to + 4 * i));
}

/// Three groups, the oldest two waited for; out [32]: first plus second
__global__ void cp_async_groups(const std::uint32_t* in, std::uint32_t* out) {
  TRIREME_DYNAMIC_SHARED(to, shared_bytes);
  const int lane = threadIdx.x;
  for (int group = 0; group < 3; ++group) {
    ptx::cp_async<4>(to + 128 * group + 4 * lane, in + 32 * group + lane);
    ptx::cp_async_commit();
  }
  ptx::cp_async_wait<1>();
  ptx::store(out + lane, ptx::load<std::uint32_t>(to + 4 * lane) + ptx::load<std::uint32_t>(to + 128 + 4 * lane));
  ptx::cp_async_wait<0>();
}

/// out [4, 32]: shuffles by index, xor, up and down in segments of 16
__global__ void shuffles(const std::uint32_t* in, std::uint32_t* out) {
  const int lane = threadIdx.x;
  const auto own = ptx::load<std::uint32_t>(in + lane);
  ptx::store(out + lane, __shfl_sync(~0u, own, lane * 7 + 3, 16));
  ptx::store(out + 32 + lane, __shfl_xor_sync(~0u, own, 5, 16));
  ptx::store(out + 64 + lane, __shfl_up_sync(~0u, own, 3, 16));
  ptx::store(out + 96 + lane, __shfl_down_sync(~0u, own, 3, 16));
}

/// out [3, 32]: ballot, any, all of bits of the input
__global__ void votes(const std::uint32_t* in, std::uint32_t* out) {
  const int lane = threadIdx.x;
  const int own = static_cast<int>(ptx::load<std::uint32_t>(in + lane));
  ptx::store(out + lane, static_cast<std::uint32_t>(__ballot_sync(~0u, own & 1)));
  ptx::store(out + 32 + lane, static_cast<std::uint32_t>(__any_sync(~0u, own & 2)));
  ptx::store(out + 64 + lane, static_cast<std::uint32_t>(__all_sync(~0u, own & 4)));
}

/// Warp 1 hands its lanes' values to warp 0 in reverse, four times; out [4, 32]
__global__ void named_barriers(const std::uint32_t* in, std::uint32_t* out) {
  TRIREME_SHARED(std::uint32_t, place, 32);
  const int lane = threadIdx.x % 32;
  for (int round = 0; round < 4; ++round) {
    if (threadIdx.x < 32) {
      ptx::barrier_sync(1, 64);
      ptx::store(out + 32 * round + lane, ptx::load<std::uint32_t>(place + 31 - lane));
      if (round < 3) ptx::barrier_arrive(2, 64);
    } else {
      if (round > 0) ptx::barrier_sync(2, 64);
      ptx::store(place + lane, ptx::load<std::uint32_t>(in + 32 * round + lane));
      ptx::barrier_arrive(1, 64);
    }
  }
}

/// out [2, 32]: 2^x and 1/x of fp32 inputs
__global__ void approximations(const std::uint32_t* in, std::uint32_t* out) {
  const int lane = threadIdx.x;
  ptx::store(out + lane, ptx::exp2_approx(ptx::load<float>(in + lane)));
  ptx::store(out + 32 + lane, ptx::reciprocal_approx(ptx::load<float>(in + lane)));
}

/// out [2, 32]: fp32 inputs as bf16 and as fp16, and back
__global__ void conversions(const std::uint32_t* in, std::uint32_t* out) {
  const int lane = threadIdx.x;
  const float x = ptx::load<float>(in + lane);
  ptx::store(out + lane, __bfloat162float(__float2bfloat16_rn(x)));
  ptx::store(out + 32 + lane, __half2float(__float2half_rn(x)));
}

template <void (*kernel)(const std::uint32_t*, std::uint32_t*), int threads>
void run(const std::uint32_t* in, std::uint32_t* out, const Target& target) {
  TRIREME_LAUNCH(*kernel, dim3(1), dim3(threads), shared_bytes, target.stream, in, out);
}

}  // namespace

std::vector<Conformance> conformance() {
  return {
      {"ldmatrix_x1", matrix_words, 32, run<ldmatrix<1, false>, 32>},
      {"ldmatrix_x2", matrix_words, 64, run<ldmatrix<2, false>, 32>},
      {"ldmatrix_x4", matrix_words, 128, run<ldmatrix<4, false>, 32>},
      {"ldmatrix_transposed_x1", matrix_words, 32, run<ldmatrix<1, true>, 32>},
      {"ldmatrix_transposed_x2", matrix_words, 64, run<ldmatrix<2, true>, 32>},
      {"ldmatrix_transposed_x4", matrix_words, 128, run<ldmatrix<4, true>, 32>},
      {"mma_m16n8k16_bf16", 320, 128, run<mma<bf16>, 32>},
      {"mma_m16n8k16_fp16", 320, 128, run<mma<fp16>, 32>},
      {"cp_async_4", 32, 32, run<cp_async<4>, 32>},
      {"cp_async_8", 64, 64, run<cp_async<8>, 32>},
      {"cp_async_16", 128, 128, run<cp_async<16>, 32>},
      {"cp_async_groups", 96, 32, run<cp_async_groups, 32>},
      {"shuffles", 32, 128, run<shuffles, 32>},
      {"votes", 32, 96, run<votes, 32>},
      {"named_barriers", 128, 128, run<named_barriers, 64>},
      {"approximations", 32, 64, run<approximations, 32>},
      {"conversions", 32, 64, run<conversions, 32>},
  };
}

}  // namespace trireme::kernels::cuda
