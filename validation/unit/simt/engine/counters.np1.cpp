// What the simulator counts, and its bf16 and fp16. Oracles: counts worked out by hand; the nearest representable number by
// distances in double.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "kernels/cuda/instructions/ptx.cuh"
#include "validation/unit/simt/fixture.h"

namespace trireme::simt {
namespace {

namespace ptx = kernels::ptx;

using SimtCounters = SimtTest;
TRIREME_IN_EVERY_ORDER(SimtCounters);

TEST_P(SimtCounters, BytesRequestedAndMoved) {
  options().count = true;
  DeviceBuffer<float> x(std::vector<float>(256, 1)), y(256);
  run(2, 32, 0, [&] {  // both blocks read the same 128 bytes, and write one float in each of 32 sectors
    const Quiet race_on_purpose;
    ptx::store(&y[8 * threadIdx.x], ptx::load<float>(&x[threadIdx.x]));
  });
  EXPECT_EQ(counters().requested_read, 2u * 32 * 4);
  EXPECT_EQ(counters().requested_written, 2u * 32 * 4);
  EXPECT_EQ(counters().moved_read, 128u);
  // Every sector once, and in each of the two warp instructions the 28 beyond the 4 that would hold their 128 bytes
  EXPECT_EQ(counters().moved_written, 32u * 32 + 2u * 28 * 32);
  EXPECT_EQ(x.requested().read, 2u * 32 * 4);
  EXPECT_EQ(x.requested().written, 0u);
}

/// Bytes moved by one load of V a lane of a buffer of 8 KiB, lane i at byte place(i); negative: none
template <class V>
std::uint64_t moved(const std::function<int(int)>& place) {
  DeviceBuffer<unsigned char> x(8192);
  counters() = {};
  run(1, 32, 0, [&] {
    const int at = place(static_cast<int>(threadIdx.x));
    if (at >= 0) ptx::load<V>(x.data() + at);
  });
  return counters().moved_read / 32;
}

TEST_P(SimtCounters, SectorsOfAWarpInstruction) {
  options().count = true;
  EXPECT_EQ(moved<float>([](int i) { return 4 * i; }), 4u);
  EXPECT_EQ(moved<float>([](int i) { return 4 * (31 - i); }), 4u) << "in any order";
  EXPECT_EQ(moved<float>([](int) { return 64; }), 1u) << "one for all";
  EXPECT_EQ(moved<float>([](int i) { return 4 * i + 16; }), 5u + 1) << "5 sectors, where 4 would do";
  EXPECT_EQ(moved<float>([](int i) { return 8 * i; }), 8u + 4) << "every second element";
  EXPECT_EQ(moved<float>([](int i) { return 128 * i; }), 32u + 28) << "a column";
  EXPECT_EQ(moved<uint4>([](int i) { return 16 * i; }), 16u);
  EXPECT_EQ(moved<uint4>([](int i) { return 128 * i; }), 32u + 16) << "half a sector each";
  EXPECT_EQ(moved<float>([](int i) { return i < 3 ? 256 * i : -1; }), 3u + 2) << "lanes that took part";
}

// Lanes that copy nothing keep their place in the instruction: the next copy of the same line is another one.
TEST_P(SimtCounters, SectorsOfCopies) {
  options().count = true;
  DeviceBuffer<float> x(64);
  run(1, 32, 256, [&] {
    TRIREME_DYNAMIC_SHARED(to, 256);
    const unsigned i = threadIdx.x;
    for (unsigned half = 0; half < 2; ++half)
      ptx::cp_async<4>(to + 128 * half + 4 * i, &x[32 * half + i], half == 0 && i % 2 == 0 ? 0 : 4);
    ptx::cp_async_commit();
    ptx::cp_async_wait<0>();
  });
  EXPECT_EQ(counters().moved_read, 8u * 32 + 2u * 32) << "the first one takes 4 sectors for 64 bytes";
}

template <class V>
std::vector<std::uint64_t> wavefronts(int stride,
                                      int lanes = 32) {  // [wavefronts, conflicts] of one store at this stride, in bytes
  counters() = {};
  run(1, 32, 16384, [&] {
    TRIREME_DYNAMIC_SHARED(to, 16384);
    const Quiet race_on_purpose;  // at stride 0
    if (static_cast<int>(threadIdx.x) < lanes) ptx::store(to + stride * static_cast<int>(threadIdx.x), V{});
  });
  return {counters().wavefronts, counters().bank_conflicts};
}

TEST_P(SimtCounters, BankConflicts) {
  options().count = true;
  using Pair = std::vector<std::uint64_t>;
  EXPECT_EQ(wavefronts<float>(4), (Pair{1, 0}));
  EXPECT_EQ(wavefronts<float>(0), (Pair{1, 0})) << "one word for all";
  EXPECT_EQ(wavefronts<float>(8), (Pair{1, 1}));
  EXPECT_EQ(wavefronts<float>(128), (Pair{1, 31}));
  EXPECT_EQ(wavefronts<float>(132), (Pair{1, 0}));
  EXPECT_EQ(wavefronts<unsigned short>(2), (Pair{1, 0}));
  EXPECT_EQ(wavefronts<uint2>(8), (Pair{2, 0}));
  EXPECT_EQ(wavefronts<uint4>(16), (Pair{4, 0}));
  EXPECT_EQ(wavefronts<uint4>(32), (Pair{4, 4}));
  EXPECT_EQ(wavefronts<uint4>(128), (Pair{4, 28}));
  EXPECT_EQ(wavefronts<uint4>(144), (Pair{4, 0}));
  EXPECT_EQ(wavefronts<float>(128, 3), (Pair{1, 2})) << "lanes that took part";
}

TEST_P(SimtCounters, BankConflictsOfMatrixLoads) {
  options().count = true;
  const auto load = [](int stride) {
    counters() = {};
    run(1, 32, 8192, [&] {
      TRIREME_DYNAMIC_SHARED(from, 8192);
      std::uint32_t r[4];
      ptx::ldmatrix(r, from + stride * static_cast<int>(threadIdx.x));
    });
    return std::vector<std::uint64_t>{counters().wavefronts, counters().bank_conflicts};
  };
  EXPECT_EQ(load(16), (std::vector<std::uint64_t>{4, 0}));
  EXPECT_EQ(load(144), (std::vector<std::uint64_t>{4, 0}));
  EXPECT_EQ(load(64), (std::vector<std::uint64_t>{4, 12}));
  EXPECT_EQ(load(128), (std::vector<std::uint64_t>{4, 28}));
}

template <class Back, class There>
void expect_nearest(const Back& back, const There& there) {
  for (std::uint32_t bits = 0; bits < 0x7bffu; ++bits) {  // finite in both formats, and positive
    const auto low = static_cast<std::uint16_t>(bits), high = static_cast<std::uint16_t>(bits + 1);
    const double a = back(low), b = back(high);
    if (std::isinf(b)) break;
    ASSERT_EQ(there(static_cast<float>(a)), low);
    ASSERT_EQ(there(static_cast<float>(-a)), low | 0x8000);
    const auto middle = static_cast<float>((a + b) / 2);
    ASSERT_EQ(middle, (a + b) / 2);
    ASSERT_EQ(there(middle), bits % 2 == 0 ? low : high) << "tie at " << middle;
    ASSERT_EQ(there(std::nextafter(middle, 0.0f)), low);
    ASSERT_EQ(there(std::nextafter(middle, 1e38f)), high);
  }
}

TEST(SimtNumbers, ConversionsRoundToNearestEven) {
  expect_nearest(fp16_to_float, float_to_fp16);
  expect_nearest(bf16_to_float, float_to_bf16);
}

TEST(SimtNumbers, KnownValues) {
  EXPECT_EQ(fp16_to_float(0x3c00), 1);
  EXPECT_EQ(fp16_to_float(0x0001), 0x1p-24f);
  EXPECT_EQ(fp16_to_float(0xfbff), -65504);
  EXPECT_EQ(bf16_to_float(0x4049), 3.140625f);
  EXPECT_EQ(float_to_fp16(65519.0f), 0x7bff);
  EXPECT_EQ(float_to_fp16(-65520.0f), 0xfc00);
  EXPECT_EQ(float_to_bf16(3.4e38f), 0x7f80);
  EXPECT_TRUE(std::isnan(fp16_to_float(float_to_fp16(std::nanf("")))));
  EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(std::nanf("")))));
  EXPECT_EQ(fp16_to_float(float_to_fp16(INFINITY)), INFINITY);
}

}  // namespace
}  // namespace trireme::simt
