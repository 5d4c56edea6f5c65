// What is forbidden or left undefined of wgmma ends the launch with a report.
#include <functional>
#include <string>

#include "kernels/cuda/instructions/ptx_sm90.cuh"
#include "validation/unit/simt/fixture.h"

namespace trireme::simt {
namespace {

namespace ptx = kernels::ptx;
using bf16 = kernels::cuda::bf16;

using SimtReportsWgmma = SimtTest;
TRIREME_IN_EVERY_ORDER(SimtReportsWgmma);

/// One warpgroup with two tiles of zeros, 64 rows of 128 bytes each
void with_operands(const std::function<void(unsigned char*)>& work, unsigned size = 128, bool fenced = true) {
  run(1, size, 16384, [&] {
    TRIREME_TILES_SHARED(tiles, 16384);
    for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) ptx::store(tiles + 16 * i, uint4{0, 0, 0, 0});
    if (fenced) ptx::fence_proxy_async();
    __syncthreads();
    work(tiles);
  });
}
void multiply(float (&d)[32], unsigned char* tiles, int stride = 1024) {
  ptx::wgmma<bf16>(d, ptx::wgmma_descriptor(tiles, 1024), ptx::wgmma_descriptor(tiles + 8192, stride), false);
}
void finish() {
  ptx::wgmma_commit();
  ptx::wgmma_wait<0>();
}

/// All that is needed for one product, in order
void multiply_once(unsigned char* tiles, int stride = 1024) {
  float d[32];
  ptx::wgmma_fence(), multiply(d, tiles, stride), finish();
}
/// A launch with one product; `between` has its accumulators before `after` ends it.
template <class Between, class After>
auto once(const Between& between, const After& after) {
  return [between, after] {
    with_operands([&](auto* tiles) {
      float d[32];
      ptx::wgmma_fence();
      multiply(d, tiles);
      between(tiles, d);
      after();
    });
  };
}
void expect_wrong(const std::function<void(unsigned char*)>& work, const std::string& words, unsigned size = 128,
                  bool fenced = true) {
  expect_error([&] { with_operands(work, size, fenced); }, words);
}

TEST_P(SimtReportsWgmma, RightUse) {
  with_operands([](auto* tiles) {
    float d[32];
    ptx::wgmma_fence(), multiply(d, tiles), multiply(d, tiles), finish();
    if (d[31] != 0) fail("not zero");
  });
  once([](auto*, auto& d) { finish(), d[0] += 1; }, [] {})();
}

TEST_P(SimtReportsWgmma, NotEnded) {
  const auto nothing = [](auto*, auto&) {};
  expect_error(once(nothing, [] {}), "wgmma that it never committed");
  expect_error(once(nothing, [] { ptx::wgmma_commit(); }), "wgmma that it never waited for");
}

TEST_P(SimtReportsWgmma, TouchedInFlight) {
  expect_error(once([](auto* tiles, auto&) { ptx::store(tiles + threadIdx.x / 32 * 2048, 1.0f); }, finish),
               finds_races ? "data race" : "an operand of a wgmma in flight changed");
  expect_error(once([](auto*, auto& d) { d[5] = 0; }, finish), "accumulators of a wgmma in flight were written");
}

TEST_P(SimtReportsWgmma, MissingFences) {
  const auto fenced_once = [](auto* tiles) {
    float d[32];
    ptx::wgmma_fence(), multiply(d, tiles), finish();
    multiply(d, tiles), finish();
  };
  expect_wrong(fenced_once, "wgmma without wgmma.fence");
  expect_wrong([](auto* tiles) { multiply_once(tiles); }, "wgmma: shared memory that thread", 128, false);
}

TEST_P(SimtReportsWgmma, OperandsOutOfPlace) {
  expect_wrong([](auto* tiles) { multiply_once(tiles, 2048); }, "reaches outside the block's shared memory");
  expect_wrong([](auto* tiles) { multiply_once(tiles + 128); }, "does not begin at a multiple of 1024 bytes");
}

TEST_P(SimtReportsWgmma, WarpsThatDiffer) {
  expect_wrong([](auto* tiles) { multiply_once(tiles); }, "no whole warpgroup", 64);
  const auto left_out = [](auto* tiles) {
    if (threadIdx.x < 96) multiply_once(tiles);
  };
  expect_wrong(left_out, "warp 3 left out a wgmma of its warpgroup");
  expect_wrong([](auto* tiles) { multiply_once(tiles, threadIdx.x < 96 ? 1024 : 512); },
               "another warp of the warpgroup has executed a different one");
}

TEST_P(SimtReportsWgmma, FragmentsChangedInFlight) {
  expect_error(
      [] {
        with_operands([](auto* tiles) {
          float d[32];
          std::uint32_t a[4] = {};
          ptx::wgmma_fence();
          ptx::wgmma<bf16>(d, a, ptx::wgmma_descriptor(tiles, 1024), false);
          ptx::wgmma_commit();
          a[2] = 1;
          ptx::wgmma_wait<0>();
          if (a[2] != 1) fail("kept out of the optimiser's reach");
        });
      },
      "an operand of a wgmma in flight changed");
}

}  // namespace
}  // namespace trireme::simt
