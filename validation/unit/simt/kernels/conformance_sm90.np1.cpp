// Each wrapper of Hopper's instructions against the tables of the PTX manual, worked out here from the manual and not from the
// simulator, and against the dumps kept in validation/reference/conformance, which a GPU's are to be compared with.
#include <array>

#include "kernels/simt/numbers.h"
#include "validation/unit/simt/kernels/dumps.h"

namespace trireme::simt {
namespace {

// ---- TMA: dimensions innermost first, of 32-bit elements; all have 4 dimensions here, the last ones of size 1.
using Four = std::array<int, 4>;
struct Tensor {
  int words;
  Four size, stride, box;
  bool swizzled;
};
const Tensor plane{120, {18, 6, 1, 1}, {1, 20, 0, 0}, {8, 4, 1, 1}, false};
const Tensor wide{576, {48, 12, 1, 1}, {1, 48, 0, 0}, {32, 16, 1, 1}, true};
const Tensor solid{180, {12, 5, 3, 1}, {1, 12, 60, 0}, {8, 2, 2, 1}, false};
const Tensor four{72, {4, 3, 2, 3}, {1, 8, 4, 24}, {4, 2, 2, 2}, false};

/// Calls work(word of the tensor or -1, word of the box in shared memory). With the 128-byte swizzle the eight chunks of row r
/// are permuted: chunk c is where chunk c ^ (r % 8) would be.
template <class Work>
void for_each_word(const Tensor& t, const Four& at, const Work& work) {
  int row = 0;
  for (int d = 0; d < t.box[3]; ++d)
    for (int c = 0; c < t.box[2]; ++c)
      for (int b = 0; b < t.box[1]; ++b, ++row)
        for (int a = 0; a < t.box[0]; ++a) {
          const Four index{at[0] + a, at[1] + b, at[2] + c, at[3] + d};
          int word = 0;
          for (std::size_t i = 0; i < 4; ++i) {
            if (index[i] < 0 || index[i] >= t.size[i]) word = -1;
            if (word >= 0) word += index[i] * t.stride[i];
          }
          const int column = t.swizzled ? ((a / 4) ^ (row % 8)) * 4 + a % 4 : a;
          work(word, static_cast<std::size_t>(row * t.box[0] + column));
        }
}
std::uint32_t words_of_box(const Tensor& t) { return static_cast<std::uint32_t>(t.box[0] * t.box[1] * t.box[2] * t.box[3]); }

Expectation load(const Tensor& t, const Four& at) {
  Expectation e{counted(static_cast<std::uint32_t>(t.words)), Words(words_of_box(t))};
  for_each_word(t, at, [&](int word, std::size_t i) { e.out[i] = word < 0 ? 0 : e.in[static_cast<std::size_t>(word)]; });
  return e;
}
Expectation store(const Tensor& t, const Four& first, const Four& second) {
  const std::uint32_t n = words_of_box(t);
  Expectation e{counted(2 * n), Words(static_cast<std::size_t>(t.words), 0xffffffffu)};
  const auto put = [&](std::size_t from) {
    return [&e, from](int word, std::size_t i) {
      if (word >= 0) e.out[static_cast<std::size_t>(word)] = e.in[from + i];
    };
  };
  for_each_word(t, first, put(0));
  for_each_word(t, second, put(n));
  return e;
}

// ---- wgmma: small integers, exact in every format and sum; no two rows or columns alike.
int a_value(int m, int k) { return (m * 5 + k * 3) % 17 - 8; }
int b_value(int k, int n) { return (k * 7 + n * 11) % 13 - 6; }
int c_value(int m, int n) { return 100 * m + n; }
using Encode = std::uint16_t (*)(float);

/// A tile of 128-byte rows, eight rows to a block of 1024 bytes, the 16-byte chunks of row r permuted by exclusive or with r % 8.
/// Rows are those of the matrix (k-major, 64 k a row) or of k (64 rows of the matrix in each, tiles of 8192 bytes).
std::size_t place(int row, int column) {
  return static_cast<std::size_t>(row / 8 * 1024 + row % 8 * 128 + ((column / 8) ^ (row % 8)) * 16 + column % 8 * 2);
}
template <class Value>
void append_operand(Words& in, int rows, bool transposed, Encode encode, const Value& value) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>((rows + 63) / 64) * 8192);
  for (int row = 0; row < rows; ++row)
    for (int k = 0; k < 64; ++k) {
      const std::size_t at = transposed ? place(row / 64 * 64 + k, row % 64) : place(row, k);
      const std::uint16_t bits = encode(static_cast<float>(value(row, k)));
      bytes[at] = static_cast<std::uint8_t>(bits & 0xff);
      bytes[at + 1] = static_cast<std::uint8_t>(bits >> 8);
    }
  for (std::size_t i = 0; i < bytes.size(); i += 4)
    in.push_back(pair(bytes[i] | bytes[i + 1] * 256u, bytes[i + 2] | bytes[i + 3] * 256u));
}

// "Register fragments": groupID = lane >> 2, t = lane % 4, w = warp of the warpgroup.
//   D, element i of n / 2: row = 16 w + groupID, + 8 for i % 4 >= 2; column = 8 (i / 4) + 2 t + (i & 1)
//   A, element i of 8: row = 16 w + groupID, + 8 for i in {2, 3, 6, 7}; column = 2 t + (i & 1), + 8 for i >= 4
int d_row(int thread, int i) { return 16 * (thread / 32) + (thread % 32 >> 2) + (i % 4 >= 2 ? 8 : 0); }
int d_column(int thread, int i) { return 8 * (i / 4) + 2 * (thread % 4) + (i & 1); }

/// Registers of each thread of the sum over k from first to last
std::vector<Words> product(int n, bool begins, int first, int last) {
  std::vector<Words> registers(128);
  for (int thread = 0; thread < 128; ++thread)
    for (int i = 0; i < n / 2; ++i) {
      const int row = d_row(thread, i), column = d_column(thread, i);
      int sum = begins ? c_value(row, column) : 0;
      for (int k = first; k < last; ++k) sum += a_value(row, k) * b_value(k, column);
      registers[static_cast<std::size_t>(thread)].push_back(bits_of(static_cast<float>(sum)));
    }
  return registers;
}
void append_folded(Words& out, const std::vector<Words>& registers) {
  for (const Words& own : registers) {
    std::uint32_t sum = 0;
    for (const std::uint32_t bits : own) sum = sum * 31 + bits;
    out.push_back(sum);
  }
}

int b_row(int n, int k) { return b_value(k, n); }

Expectation of_shared(int n, Encode encode, bool m_major = false, bool n_major = false, bool begins = false, bool folded = true) {
  Expectation e;
  append_operand(e.in, 64, m_major, encode, a_value);
  append_operand(e.in, n, n_major, encode, b_row);
  for (int thread = 0; begins && thread < 128; ++thread)
    for (int i = 0; i < n / 2; ++i) e.in.push_back(bits_of(static_cast<float>(c_value(d_row(thread, i), d_column(thread, i)))));
  const std::vector<Words> registers = product(n, begins, 0, 64);
  if (folded) append_folded(e.out, registers);
  for (const Words& own : registers)
    if (!folded) e.out.insert(e.out.end(), own.begin(), own.end());
  return e;
}
Expectation of_registers(int n, Encode encode, bool n_major) {
  Expectation e;
  for (int k = 0; k < 64; k += 16)
    for (int thread = 0; thread < 128; ++thread)
      for (int r = 0; r < 4; ++r) {
        const int row = 16 * (thread / 32) + (thread % 32 >> 2) + (r % 2 != 0 ? 8 : 0);
        const int column = k + 2 * (thread % 4) + (r >= 2 ? 8 : 0);
        e.in.push_back(
            pair(encode(static_cast<float>(a_value(row, column))), encode(static_cast<float>(a_value(row, column + 1)))));
      }
  append_operand(e.in, n, n_major, encode, b_row);
  append_folded(e.out, product(n, false, 0, 32));
  append_folded(e.out, product(n, false, 32, 64));
  return e;
}

const std::map<std::string, Expectation>& expectations() {
  static const std::map<std::string, Expectation> table = {
      {"mbarrier_phases", {counted(128), expected_hand_over()}},
      {"tma_load_2d", load(plane, {15, 4, 0, 0})},
      {"tma_load_2d_before", load(plane, {-3, -1, 0, 0})},
      {"tma_load_2d_swizzled", load(wide, {20, 2, 0, 0})},
      {"tma_load_3d", load(solid, {8, 4, 1, 0})},
      {"tma_load_4d", load(four, {0, 2, 0, 1})},
      {"tma_store_2d", store(plane, {15, 4, 0, 0}, {-3, -1, 0, 0})},
      {"tma_store_2d_swizzled", store(wide, {20, 2, 0, 0}, {-18, -13, 0, 0})},
      {"tma_store_3d", store(solid, {8, 4, 1, 0}, {-1, 0, 0, 0})},
      {"tma_store_4d", store(four, {0, 2, 0, 1}, {0, 0, 0, 0})},
      {"wgmma_bf16_n16", of_shared(16, float_to_bf16, false, false, true, false)},
      {"wgmma_bf16_n32", of_shared(32, float_to_bf16)},
      {"wgmma_bf16_n64", of_shared(64, float_to_bf16, false, false, true)},
      {"wgmma_bf16_n80", of_shared(80, float_to_bf16)},
      {"wgmma_bf16_n96", of_shared(96, float_to_bf16)},
      {"wgmma_bf16_n128", of_shared(128, float_to_bf16)},
      {"wgmma_bf16_n192", of_shared(192, float_to_bf16)},
      {"wgmma_bf16_n256", of_shared(256, float_to_bf16)},
      {"wgmma_fp16_n64", of_shared(64, float_to_fp16)},
      {"wgmma_bf16_n64_m_major", of_shared(64, float_to_bf16, true, false)},
      {"wgmma_bf16_n128_n_major", of_shared(128, float_to_bf16, false, true)},
      {"wgmma_fp16_n128_m_n_major", of_shared(128, float_to_fp16, true, true)},
      {"wgmma_registers_bf16_n64_n_major", of_registers(64, float_to_bf16, true)},
      {"wgmma_registers_bf16_n128_n_major", of_registers(128, float_to_bf16, true)},
      {"wgmma_registers_fp16_n64", of_registers(64, float_to_fp16, false)},
      {"elect", {{0}, {1, 1}}},
  };
  return table;
}

using SimtConformanceSm90 = SimtTest;
TRIREME_IN_EVERY_ORDER(SimtConformanceSm90);

TEST_P(SimtConformanceSm90, EveryWrapperGivesWhatThePtxManualSays) {
  expect_conformance(kernels::cuda::conformance_sm90(), expectations());
}

}  // namespace
}  // namespace trireme::simt
