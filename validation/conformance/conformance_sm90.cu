#include "kernels/cuda/instructions/ptx_sm90.cuh"
#include "validation/conformance/conformance.h"

namespace trireme::kernels::cuda {
namespace {

using ptx::Swizzle;
using ptx::TensorMap;

__device__ int thread() { return static_cast<int>(threadIdx.x); }

__device__ void copy_words(void* to, const std::uint32_t* from, int words) {
  for (int i = thread(); i < words; i += static_cast<int>(blockDim.x))
    ptx::store(static_cast<unsigned char*>(to) + 4 * i, ptx::load<std::uint32_t>(from + i));
}
__device__ void dump_words(std::uint32_t* to, const unsigned char* from, int words) {
  for (int i = thread(); i < words; i += static_cast<int>(blockDim.x)) ptx::store(to + i, ptx::load<std::uint32_t>(from + 4 * i));
}

/// Warp 1 hands its lanes' values to warp 0 in reverse, four times, through one place; out [4, 32]
__global__ void mbarrier_phases(const std::uint32_t* in, std::uint32_t* out) {
  TRIREME_SHARED(std::uint32_t, place, 32);
  TRIREME_SHARED(std::uint64_t, barriers, 2);  // the place is full, is empty
  const int lane = thread() % 32;
  if (thread() == 0) {
    ptx::mbarrier_init(&barriers[0], 32);
    ptx::mbarrier_init(&barriers[1], 32);
  }
  __syncthreads();
  for (int round = 0; round < 4; ++round) {
    if (thread() < 32) {
      while (!ptx::mbarrier_try_wait(&barriers[0], round % 2)) {
      }
      ptx::store(out + 32 * round + lane, ptx::load<std::uint32_t>(place + 31 - lane));
      ptx::mbarrier_arrive(&barriers[1]);
    } else {
      ptx::mbarrier_wait(&barriers[1], (round + 1) % 2);
      ptx::store(place + lane, ptx::load<std::uint32_t>(in + 32 * round + lane));
      ptx::mbarrier_arrive(&barriers[0]);
    }
  }
}

template <int rank>
struct Coordinates {
  int at[rank];
};

constexpr int box_bytes = 4096;  // one, or two of up to 2048

/// The box as it lies in shared memory
template <int rank>
__global__ void tma_load(const __grid_constant__ TensorMap map, Coordinates<rank> corner, int words, std::uint32_t* out) {
  TRIREME_TILES_SHARED(box, box_bytes);
  TRIREME_SHARED(std::uint64_t, full, 1);
  if (thread() == 0) {
    ptx::mbarrier_init(full, 1);
    ptx::mbarrier_init_fence();
    ptx::mbarrier_arrive_expect(full, 4 * words);
    ptx::tma_load(box, map, full, corner.at);
  }
  __syncthreads();
  ptx::mbarrier_wait(full, 0);
  dump_words(out, box, words);
}

/// A tensor of 32-bit elements, innermost dimension first, and the boxes that are moved. stride: of dimensions 1 and up, in
/// elements
template <int rank>
struct Boxed {
  std::int64_t size[rank], stride[rank - 1];
  int box[rank];
  Swizzle swizzle;
  int box_words() const {
    int words = 1;
    for (const int b : box) words *= b;
    return words;
  }
};

/// A box of the tensor that begins at `in`
template <int rank>
void load_box(const std::uint32_t* in, std::uint32_t* out, const Boxed<rank>& tensor, const Coordinates<rank>& corner,
              const Target& target) {
  const auto map =
      ptx::make_tensor_map(reinterpret_cast<const float*>(in), tensor.size, tensor.stride, tensor.box, tensor.swizzle);
  const int words = tensor.box_words();
  TRIREME_LAUNCH(tma_load<rank>, dim3(1), dim3(32), box_bytes, target.stream, map, corner, words, out);
}
void load_2d(const std::uint32_t* in, std::uint32_t* out, const Target& target) {  // sticks out at the end of both dimensions
  load_box<2>(in, out, {{18, 6}, {20}, {8, 4}, Swizzle::none}, {{15, 4}}, target);
}
void load_2d_before(const std::uint32_t* in, std::uint32_t* out, const Target& target) {  // begins before both
  load_box<2>(in, out, {{18, 6}, {20}, {8, 4}, Swizzle::none}, {{-3, -1}}, target);
}
void load_2d_swizzled(const std::uint32_t* in, std::uint32_t* out, const Target& target) {
  load_box<2>(in, out, {{48, 12}, {48}, {32, 16}, Swizzle::bytes128}, {{20, 2}}, target);
}
void load_3d(const std::uint32_t* in, std::uint32_t* out, const Target& target) {
  load_box<3>(in, out, {{12, 5, 3}, {12, 60}, {8, 2, 2}, Swizzle::none}, {{8, 4, 1}}, target);
}
void load_4d(const std::uint32_t* in, std::uint32_t* out, const Target& target) {  // the third dimension's stride is the least
  load_box<4>(in, out, {{4, 3, 2, 3}, {8, 4, 24}, {4, 2, 2, 2}, Swizzle::none}, {{0, 2, 0, 1}}, target);
}

__global__ void fill(std::uint32_t* out, int words) {
  for (int i = thread(); i < words; i += 32) ptx::store(out + i, 0xffffffffu);
}
/// Two boxes from shared memory, the first of which is then overwritten
template <int rank>
__global__ void tma_store(const __grid_constant__ TensorMap map, Coordinates<rank> first, Coordinates<rank> second, int words,
                          const std::uint32_t* in) {
  TRIREME_TILES_SHARED(boxes, box_bytes);
  copy_words(boxes, in, words);
  copy_words(boxes + 2048, in + words, words);
  ptx::fence_proxy_async();
  __syncthreads();
  if (thread() == 0) {
    ptx::tma_store(map, first.at, boxes);
    ptx::tma_store_commit();
    ptx::tma_store(map, second.at, boxes + 2048);
    ptx::tma_store_commit();
    ptx::tma_store_wait_read<1>();
    ptx::store(boxes, 0u);
    ptx::tma_store_wait<0>();
  }
}

template <int rank>
void store_boxes(const std::uint32_t* in, std::uint32_t* out, int out_words, const Boxed<rank>& tensor,
                 const Coordinates<rank>& first, const Coordinates<rank>& second, const Target& target) {
  const auto map = ptx::make_tensor_map(reinterpret_cast<float*>(out), tensor.size, tensor.stride, tensor.box, tensor.swizzle);
  const int words = tensor.box_words();
  TRIREME_LAUNCH(fill, dim3(1), dim3(32), 16, target.stream, out, out_words);
  TRIREME_LAUNCH(tma_store<rank>, dim3(1), dim3(32), box_bytes, target.stream, map, first, second, words, in);
}
void store_2d(const std::uint32_t* in, std::uint32_t* out, const Target& target) {
  store_boxes<2>(in, out, 120, {{18, 6}, {20}, {8, 4}, Swizzle::none}, {{15, 4}}, {{-3, -1}}, target);
}
void store_2d_swizzled(const std::uint32_t* in, std::uint32_t* out, const Target& target) {
  store_boxes<2>(in, out, 576, {{48, 12}, {48}, {32, 16}, Swizzle::bytes128}, {{20, 2}}, {{-18, -13}}, target);
}
void store_3d(const std::uint32_t* in, std::uint32_t* out, const Target& target) {
  store_boxes<3>(in, out, 180, {{12, 5, 3}, {12, 60}, {8, 2, 2}, Swizzle::none}, {{8, 4, 1}}, {{-1, 0, 0}}, target);
}
void store_4d(const std::uint32_t* in, std::uint32_t* out, const Target& target) {
  store_boxes<4>(in, out, 72, {{4, 3, 2, 3}, {8, 4, 24}, {4, 2, 2, 2}, Swizzle::none}, {{0, 2, 0, 1}}, {{0, 0, 0, 0}}, target);
}

/// Every register of each thread, or a number that depends on all of them and on their places
template <bool folded, int registers>
__device__ void dump_registers(std::uint32_t* out, const float (&d)[registers]) {
  std::uint32_t sum = 0;
#pragma unroll
  for (int i = 0; i < registers; ++i) {
    std::uint32_t bits;
    memcpy(&bits, &d[i], 4);
    if constexpr (!folded) ptx::store(out + registers * thread() + i, bits);
    sum = sum * 31 + bits;
  }
  if constexpr (folded) ptx::store(out + thread(), sum);
}

constexpr int tile_words = 2048;  // 64 rows of 128 bytes

/// in: A, then B, 64 deep, as they lie in shared memory: tiles of 64 rows, rows of k or, with m_major and n_major, of m and n;
/// then the sums [128, n / 2] to begin with, when there are any. out: registers
template <class T, int n, bool m_major, bool n_major, bool begins, bool folded>
__global__ void wgmma_shared(const std::uint32_t* in, std::uint32_t* out) {
  constexpr int words = tile_words + (n + 63) / 64 * tile_words;
  TRIREME_TILES_SHARED(tiles, 4 * words);
  copy_words(tiles, in, words);
  ptx::fence_proxy_async();
  __syncthreads();
  float d[n / 2];
#pragma unroll
  for (int i = 0; i < n / 2; ++i) d[i] = begins ? ptx::load<float>(in + words + n / 2 * thread() + i) : 0.0f;
  ptx::wgmma_fence_operand(d);
  ptx::wgmma_fence();
#pragma unroll
  for (int k = 0; k < 64; k += 16)
    ptx::wgmma<T, m_major, n_major>(d, ptx::wgmma_descriptor(tiles + k * (m_major ? 128 : 2), 1024),
                                    ptx::wgmma_descriptor(tiles + 8192 + k * (n_major ? 128 : 2), 1024, n_major ? 8192 : 16),
                                    begins || k > 0);
  ptx::wgmma_commit();
  ptx::wgmma_wait<0>();
  ptx::wgmma_fence_operand(d);
  dump_registers<folded>(out, d);
}

/// in: registers of A [4, 128, 4], then B as above. Two groups, the first waited for alone
template <class T, int n, bool n_major>
__global__ void wgmma_registers(const std::uint32_t* in, std::uint32_t* out) {
  constexpr int words = (n + 63) / 64 * tile_words;
  TRIREME_TILES_SHARED(tiles, 4 * words);
  copy_words(tiles, in + tile_words, words);
  ptx::fence_proxy_async();
  __syncthreads();
  std::uint32_t a[4][4];
#pragma unroll
  for (int k = 0; k < 4; ++k)
#pragma unroll
    for (int i = 0; i < 4; ++i) a[k][i] = ptx::load<std::uint32_t>(in + 512 * k + 4 * thread() + i);
  float d[2][n / 2];
#pragma unroll
  for (int k = 0; k < 4; ++k) ptx::wgmma_fence_operand(a[k]);
  ptx::wgmma_fence();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int k = 2 * half; k < 2 * half + 2; ++k)
      ptx::wgmma<T, n_major>(d[half], a[k], ptx::wgmma_descriptor(tiles + k * (n_major ? 2048 : 32), 1024, n_major ? 8192 : 16),
                             k % 2 != 0);
    ptx::wgmma_commit();
  }
  ptx::wgmma_wait<1>();
  ptx::wgmma_fence_operand(d[0]);
  dump_registers<true>(out, d[0]);
  ptx::wgmma_wait<0>();
  ptx::wgmma_fence_operand(d[1]);
#pragma unroll
  for (int k = 0; k < 4; ++k) ptx::wgmma_fence_operand(a[k]);
  dump_registers<true>(out + 128, d[1]);
}

/// out: how many lanes of a warp were elected, and that it is the same one again
__global__ void elections(const std::uint32_t*, std::uint32_t* out) {
  const unsigned first = __ballot_sync(~0u, ptx::elect()), again = __ballot_sync(~0u, ptx::elect());
  int count = 0;
  for (int i = 0; i < 32; ++i) count += static_cast<int>(first >> i & 1);
  if (thread() == 0) ptx::store(out, static_cast<std::uint32_t>(count));
  if (thread() == 0) ptx::store(out + 1, static_cast<std::uint32_t>(first == again));
}

template <void (*kernel)(const std::uint32_t*, std::uint32_t*), int threads, int shared_bytes>
void run(const std::uint32_t* in, std::uint32_t* out, const Target& target) {
  TRIREME_LAUNCH(*kernel, dim3(1), dim3(threads), shared_bytes, target.stream, in, out);
}

template <class T, int n, bool m_major = false, bool n_major = false, bool begins = false, bool folded = true>
constexpr Conformance of_shared(const char* name) {
  constexpr int tiles = 1 + (n + 63) / 64;
  return {name, tiles * tile_words + (begins ? 64 * n : 0), folded ? 128 : 64 * n,
          run<wgmma_shared<T, n, m_major, n_major, begins, folded>, 128, 4 * tiles * tile_words>};
}
template <class T, int n, bool n_major>
constexpr Conformance of_registers(const char* name) {
  constexpr int tiles = 1 + (n + 63) / 64;
  return {name, tiles * tile_words, 256, run<wgmma_registers<T, n, n_major>, 128, 4 * (tiles - 1) * tile_words>};
}

}  // namespace

std::vector<Conformance> conformance_sm90() {
  return {
      {"mbarrier_phases", 128, 128, run<mbarrier_phases, 64, 16>},
      {"tma_load_2d", 120, 32, load_2d},
      {"tma_load_2d_before", 120, 32, load_2d_before},
      {"tma_load_2d_swizzled", 576, 512, load_2d_swizzled},
      {"tma_load_3d", 180, 32, load_3d},
      {"tma_load_4d", 72, 32, load_4d},
      {"tma_store_2d", 64, 120, store_2d},
      {"tma_store_2d_swizzled", 1024, 576, store_2d_swizzled},
      {"tma_store_3d", 64, 180, store_3d},
      {"tma_store_4d", 64, 72, store_4d},
      of_shared<bf16, 16, false, false, true, false>("wgmma_bf16_n16"),
      of_shared<bf16, 32>("wgmma_bf16_n32"),
      of_shared<bf16, 64, false, false, true>("wgmma_bf16_n64"),
      of_shared<bf16, 80>("wgmma_bf16_n80"),
      of_shared<bf16, 96>("wgmma_bf16_n96"),
      of_shared<bf16, 128>("wgmma_bf16_n128"),
      of_shared<bf16, 192>("wgmma_bf16_n192"),
      of_shared<bf16, 256>("wgmma_bf16_n256"),
      of_shared<fp16, 64>("wgmma_fp16_n64"),
      of_shared<bf16, 64, true, false>("wgmma_bf16_n64_m_major"),
      of_shared<bf16, 128, false, true>("wgmma_bf16_n128_n_major"),
      of_shared<fp16, 128, true, true>("wgmma_fp16_n128_m_n_major"),
      of_registers<bf16, 64, true>("wgmma_registers_bf16_n64_n_major"),
      of_registers<bf16, 128, true>("wgmma_registers_bf16_n128_n_major"),
      of_registers<fp16, 64, false>("wgmma_registers_fp16_n64"),
      {"elect", 1, 2, run<elections, 32, 16>},
  };
}

}  // namespace trireme::kernels::cuda
