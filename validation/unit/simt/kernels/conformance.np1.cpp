// Each instruction wrapper against the tables of the PTX manual, worked out here from the manual and not from the simulator, and
// against the dumps kept in validation/reference/conformance, which a GPU's are to be compared with.
#include <cmath>
#include <cstring>

#include "kernels/simt/numbers.h"
#include "validation/unit/simt/kernels/dumps.h"

namespace trireme::simt {
namespace {

/// Input: element k of the 512 of ldmatrix is the number k, so a register says where it came from.
Words matrix_input() {
  Words in;
  for (std::uint32_t i = 0; i < 256; ++i) in.push_back(pair(2 * i, 2 * i + 1));
  return in;
}

/// PTX ISA, ldmatrix: "each thread T holds elements (row T / 4, columns 2 (T % 4) and + 1)"; with .trans the matrix is loaded in
/// column-major order, that is the same elements of the transposed one.
Words expected_ldmatrix(std::uint32_t count, bool transposed) {
  Words out;
  const auto element = [&](std::uint32_t matrix, std::uint32_t row, std::uint32_t column) {
    return 64 * matrix + (transposed ? 8 * column + row : 8 * row + column);
  };
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    for (std::uint32_t m = 0; m < count; ++m)
      out.push_back(pair(element(m, lane >> 2, (lane & 3) << 1), element(m, lane >> 2, ((lane & 3) << 1) + 1)));
  return out;
}

// mma.m16n8k16, "Matrix fragments": groupID = lane >> 2, t = lane % 4.
//   A, element i of 8: row = groupID for i in {0, 1, 4, 5}, else groupID + 8; column = 2 t + (i & 1), + 8 for i >= 4
//   B, element i of 4: row = 2 t + (i & 1), + 8 for i >= 2; column = groupID
//   C, element i of 4: row = groupID, + 8 for i >= 2; column = 2 t + (i & 1)
constexpr int a_row(int lane, int i) { return (lane >> 2) + (i == 2 || i == 3 || i == 6 || i == 7 ? 8 : 0); }
constexpr int a_column(int lane, int i) { return 2 * (lane % 4) + (i & 1) + (i >= 4 ? 8 : 0); }
constexpr int b_row(int lane, int i) { return 2 * (lane % 4) + (i & 1) + (i >= 2 ? 8 : 0); }
constexpr int b_column(int lane, int) { return lane >> 2; }
constexpr int c_row(int lane, int i) { return (lane >> 2) + (i >= 2 ? 8 : 0); }
constexpr int c_column(int lane, int i) { return 2 * (lane % 4) + (i & 1); }

// Small integers, exact in every format and sum; no two rows or columns alike.
int a_value(int m, int k) { return (m * 5 + k * 3) % 17 - 8; }
int b_value(int k, int n) { return (k * 7 + n * 11) % 13 - 6; }
int c_value(int m, int n) { return 100 * m + n; }

template <class Encode>
Words mma_input(const Encode& encode) {
  Words in;
  for (int lane = 0; lane < 32; ++lane)
    for (int r = 0; r < 4; ++r) {
      const auto at = [&](int i) { return encode(static_cast<float>(a_value(a_row(lane, i), a_column(lane, i)))); };
      in.push_back(pair(at(2 * r), at(2 * r + 1)));
    }
  for (int lane = 0; lane < 32; ++lane)
    for (int r = 0; r < 2; ++r) {
      const auto at = [&](int i) { return encode(static_cast<float>(b_value(b_row(lane, i), b_column(lane, i)))); };
      in.push_back(pair(at(2 * r), at(2 * r + 1)));
    }
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) in.push_back(bits_of(static_cast<float>(c_value(c_row(lane, i), c_column(lane, i)))));
  return in;
}
Words expected_mma() {
  Words out;
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      int sum = c_value(c_row(lane, i), c_column(lane, i));
      for (int k = 0; k < 16; ++k) sum += a_value(c_row(lane, i), k) * b_value(k, c_column(lane, i));
      out.push_back(bits_of(static_cast<float>(sum)));
    }
  return out;
}

/// Byte i of lane l: the source's while i < l % (bytes + 1), else 0
Words expected_copy(std::uint32_t bytes) {
  const Words in = counted(8 * bytes);
  Words out(8 * bytes);
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    std::memcpy(reinterpret_cast<char*>(out.data()) + bytes * lane, reinterpret_cast<const char*>(in.data()) + bytes * lane,
                lane % (bytes + 1));
  return out;
}
Words expected_groups() {
  const Words in = counted(96);
  Words out;
  for (std::size_t i = 0; i < 32; ++i) out.push_back(in[i] + in[32 + i]);
  return out;
}

Words expected_shuffles() {
  const Words in = counted(32);
  Words out(128);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    const std::size_t first = lane & 16, i = lane & 15;
    out[lane] = in[first + ((lane * 7 + 3) & 15)];
    out[32 + lane] = in[first + (i ^ 5)];
    out[64 + lane] = in[i >= 3 ? lane - 3 : lane];
    out[96 + lane] = in[i + 3 < 16 ? lane + 3 : lane];
  }
  return out;
}

Words vote_input() {
  Words in;
  for (std::uint32_t i = 0; i < 32; ++i) in.push_back((i % 3 == 0 ? 1 : 0) | (i == 17 ? 2 : 0) | (i != 4 ? 4 : 0));
  return in;
}
Words expected_votes() {
  std::uint32_t mask = 0;
  for (std::uint32_t i = 0; i < 32; i += 3) mask |= 1u << i;
  Words out(32, mask);
  out.insert(out.end(), 32, 1);
  out.insert(out.end(), 32, 0);
  return out;
}

/// PTX ISA, ex2.approx and rcp.approx: within 2^-22 of the result, which below a power of two is four units in the last place.
constexpr std::int64_t approximation_ulps = 4;
Words power_input() {
  Words in;
  for (int i = 0; i < 32; ++i) in.push_back(bits_of(std::ldexp(i % 2 == 0 ? 1.0f : -1.0f, i % 7)));
  return in;
}
Words expected_approximations() {
  Words out(64);
  for (std::size_t i = 0; i < 32; ++i) {
    const float x = float_of(power_input()[i]);
    out[i] = bits_of(std::ldexp(1.0f, static_cast<int>(x)));
    out[32 + i] = bits_of(1 / x);
  }
  return out;
}

/// 1 + (2 i + 1) / 2 units in the last place of bf16, and of fp16: ties, to be rounded to even
Words tie_input() {
  Words in;
  for (int i = 0; i < 16; ++i) in.push_back(bits_of(1 + static_cast<float>(2 * i + 1) * 0x1p-8f));
  for (int i = 0; i < 16; ++i) in.push_back(bits_of(-1 - static_cast<float>(2 * i + 1) * 0x1p-11f));
  return in;
}
Words expected_conversions() {
  Words out;
  for (const double ulp : {0x1p-7, 0x1p-10})
    for (const std::uint32_t bits : tie_input())
      out.push_back(bits_of(static_cast<float>(std::nearbyint(float_of(bits) / ulp) * ulp)));
  return out;
}

const std::map<std::string, Expectation>& expectations() {
  static const std::map<std::string, Expectation> table = {
      {"ldmatrix_x1", {matrix_input(), expected_ldmatrix(1, false)}},
      {"ldmatrix_x2", {matrix_input(), expected_ldmatrix(2, false)}},
      {"ldmatrix_x4", {matrix_input(), expected_ldmatrix(4, false)}},
      {"ldmatrix_transposed_x1", {matrix_input(), expected_ldmatrix(1, true)}},
      {"ldmatrix_transposed_x2", {matrix_input(), expected_ldmatrix(2, true)}},
      {"ldmatrix_transposed_x4", {matrix_input(), expected_ldmatrix(4, true)}},
      {"mma_m16n8k16_bf16", {mma_input(float_to_bf16), expected_mma()}},
      {"mma_m16n8k16_fp16", {mma_input(float_to_fp16), expected_mma()}},
      {"cp_async_4", {counted(32), expected_copy(4)}},
      {"cp_async_8", {counted(64), expected_copy(8)}},
      {"cp_async_16", {counted(128), expected_copy(16)}},
      {"cp_async_groups", {counted(96), expected_groups()}},
      {"shuffles", {counted(32), expected_shuffles()}},
      {"votes", {vote_input(), expected_votes()}},
      {"named_barriers", {counted(128), expected_hand_over()}},
      {"approximations", {power_input(), expected_approximations(), approximation_ulps}},
      {"conversions", {tie_input(), expected_conversions()}},
  };
  return table;
}

using SimtConformance = SimtTest;
TRIREME_IN_EVERY_ORDER(SimtConformance);

TEST_P(SimtConformance, EveryWrapperGivesWhatThePtxManualSays) {
  expect_conformance(kernels::cuda::conformance(), expectations());
}

}  // namespace
}  // namespace trireme::simt
