#include <algorithm>

#include "kernels/cuda/instructions/numbers.cuh"
#include "kernels/cuda/instructions/ptx_sm90.cuh"
#include "kernels/cuda/views.h"
#include "validation/rehearsal/pipeline_sm90.h"

namespace trireme::kernels::cuda {
namespace {

constexpr int tile_rows = 128, tile_columns = 128, tile_depth = 64, stages = 3;
constexpr int consumers = 2, threads = 128 * (1 + consumers);     // warpgroups; the first one brings the tiles
constexpr int producer_registers = 40, consumer_registers = 232;  // a thread
static_assert(producer_registers + consumers * consumer_registers <= (1 + consumers) * (65536 / threads / 8 * 8),
              "more than the launch has: the last warpgroup would wait for ever");
constexpr int group_rows = tile_rows / consumers;
constexpr int half_bytes = 128 * tile_depth * 2, stage_bytes = 2 * half_bytes;   // of x and of the weight
constexpr int store_columns = 64, store_bytes = group_rows * store_columns * 2;  // what one TMA store takes
constexpr int result_bytes = tile_columns / store_columns * store_bytes;         // of a warpgroup
constexpr int shared_bytes = stages * stage_bytes + consumers * result_bytes;

struct Shape {
  int tiles_of_rows, tiles, depth;  // depth: tiles of k
};

/// Where a warp is in the ring of stages. The n-th use of a stage completes the phase of parity n % 2.
struct Ring {
  int stage = 0, parity = 0;
  __device__ void next() {
    if (++stage == stages) stage = 0, parity ^= 1;
  }
};

__device__ __forceinline__ void produce(const ptx::TensorMap& x, const ptx::TensorMap& weight, const Shape& shape,
                                        unsigned char* memory, std::uint64_t* full, std::uint64_t* empty) {
  Ring at;
  for (int tile = static_cast<int>(blockIdx.x); tile < shape.tiles; tile += static_cast<int>(gridDim.x)) {
    const int row = tile % shape.tiles_of_rows * tile_rows, column = tile / shape.tiles_of_rows * tile_columns;
    for (int k = 0; k < shape.depth; ++k, at.next()) {
      ptx::mbarrier_wait(&empty[at.stage], at.parity ^ 1);
      ptx::mbarrier_arrive_expect(&full[at.stage], stage_bytes);
      unsigned char* stage = memory + at.stage * stage_bytes;
      ptx::tma_load(stage, x, &full[at.stage], {k * tile_depth, row});
      ptx::tma_load(stage + half_bytes, weight, &full[at.stage], {k * tile_depth, column});
    }
  }
}

/// One arrival a warp: wgmma_wait says nothing of the other warps.
__device__ __forceinline__ void release(std::uint64_t* empty) {
  const int thread = static_cast<int>(threadIdx.x);
  if (thread % 32 == 0) ptx::mbarrier_arrive(empty);
}

__device__ __forceinline__ void multiply(const unsigned char* x, const unsigned char* weight, bool accumulate,
                                         float (&sums)[tile_columns / 2]) {
  ptx::wgmma_fence_operand(sums);
  ptx::wgmma_fence();
#pragma unroll
  for (int k = 0; k < tile_depth; k += 16) {
    ptx::wgmma<bf16>(sums, ptx::wgmma_descriptor(x + 2 * k, 1024), ptx::wgmma_descriptor(weight + 2 * k, 1024),
                     accumulate || k > 0);
  }
  ptx::wgmma_commit();
}

/// The sums to shared memory as TMA with the swizzle wants them, [64, 64] after [64, 64]
__device__ __forceinline__ void stage_result(unsigned char* result, const float (&sums)[tile_columns / 2]) {
  struct alignas(4) Pair {
    bf16 element[2];
  };
  const int thread = static_cast<int>(threadIdx.x) % 128, lane = thread % 32;
#pragma unroll
  for (int j = 0; j < tile_columns / 8; ++j)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = thread / 32 * 16 + lane / 4 + 8 * h;
      const Pair pair{{__float2bfloat16_rn(sums[4 * j + 2 * h]), __float2bfloat16_rn(sums[4 * j + 2 * h + 1])}};
      ptx::store(result + j / 8 * store_bytes + row * 128 + ((j % 8) ^ (row % 8)) * 16 + lane % 4 * 4, pair);
    }
}

__device__ __forceinline__ void consume(const ptx::TensorMap& y, const Shape& shape, unsigned char* memory, std::uint64_t* full,
                                        std::uint64_t* empty) {
  const int group = static_cast<int>(threadIdx.x) / 128 - 1, barrier = 1 + group;
  const bool first = threadIdx.x % 128 == 0;
  unsigned char* result = memory + stages * stage_bytes + group * result_bytes;
  Ring at;
  for (int tile = static_cast<int>(blockIdx.x); tile < shape.tiles; tile += static_cast<int>(gridDim.x)) {
    const int row = tile % shape.tiles_of_rows * tile_rows, column = tile / shape.tiles_of_rows * tile_columns;
    float sums[tile_columns / 2];
    int before = 0;
    for (int k = 0; k < shape.depth; ++k, at.next()) {
      const unsigned char* stage = memory + at.stage * stage_bytes;
      ptx::mbarrier_wait(&full[at.stage], at.parity);
      multiply(stage + group * group_rows * 128, stage + half_bytes, k > 0, sums);
      ptx::wgmma_wait<1>();  // the product before this one is done with its stage
      ptx::wgmma_fence_operand(sums);
      if (k > 0) release(&empty[before]);
      before = at.stage;
    }
    ptx::wgmma_wait<0>();
    ptx::wgmma_fence_operand(sums);
    release(&empty[before]);

    if (first) ptx::tma_store_wait_read<0>();
    ptx::barrier_sync(barrier, 128);
    stage_result(result, sums);
    ptx::fence_proxy_async();
    ptx::barrier_sync(barrier, 128);
    if (first) {
#pragma unroll
      for (int j = 0; j < tile_columns / store_columns; ++j)
        ptx::tma_store(y, {column + j * store_columns, row + group * group_rows}, result + j * store_bytes);
      ptx::tma_store_commit();
    }
  }
  if (first) ptx::tma_store_wait<0>();
}

TRIREME_KERNEL((threads, 1), pipelined_product, const __grid_constant__ ptx::TensorMap x,
               const __grid_constant__ ptx::TensorMap weight, const __grid_constant__ ptx::TensorMap y, Shape shape) {
  TRIREME_TILES_SHARED(memory, shared_bytes);
  TRIREME_SHARED(std::uint64_t, full, stages);
  TRIREME_SHARED(std::uint64_t, empty, stages);
  if (threadIdx.x == 0) {
    for (int s = 0; s < stages; ++s) {
      ptx::mbarrier_init(&full[s], 1);
      ptx::mbarrier_init(&empty[s], 4 * consumers);
    }
    ptx::mbarrier_init_fence();
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    ptx::give_registers<producer_registers>();
    if (threadIdx.x < 32 && ptx::elect()) produce(x, weight, shape, memory, full, empty);
  } else {
    ptx::take_registers<consumer_registers>();
    consume(y, shape, memory, full, empty);
  }
}

}  // namespace

void linear_pipelined(LinearShape shape, View x, View weight, View y, const Target& target) {
  const auto [rows, in, out] = shape;
  const auto map_x =
      ptx::make_tensor_map(elements<bf16>(x, rows * in), {in, rows}, {in}, {tile_depth, tile_rows}, ptx::Swizzle::bytes128);
  const auto map_weight =
      ptx::make_tensor_map(elements<bf16>(weight, out * in), {in, out}, {in}, {tile_depth, tile_columns}, ptx::Swizzle::bytes128);
  const auto map_y = ptx::make_tensor_map(elements<bf16>(y, rows * out), {out, rows}, {out}, {store_columns, group_rows},
                                          ptx::Swizzle::bytes128);
  Shape tiles{};
  tiles.tiles_of_rows = narrow(blocks_of(rows, tile_rows));
  tiles.tiles = narrow(static_cast<std::int64_t>(tiles.tiles_of_rows) * blocks_of(out, tile_columns));
  tiles.depth = narrow(blocks_of(in, tile_depth));
  const int grid = std::min(target.multiprocessors, tiles.tiles);
  TRIREME_LAUNCH(pipelined_product, dim3(static_cast<unsigned>(grid)), dim3(threads), shared_bytes, target.stream, map_x,
                 map_weight, map_y, tiles);
}

}  // namespace trireme::kernels::cuda
