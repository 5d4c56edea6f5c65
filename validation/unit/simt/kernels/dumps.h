// What the conformance tests share: words, and the dumps kept for comparison with a GPU's.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "validation/conformance/conformance.h"
#include "validation/unit/simt/fixture.h"

namespace trireme::simt {

using Words = std::vector<std::uint32_t>;

inline std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
inline float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }
inline std::uint32_t pair(std::uint32_t low, std::uint32_t high) { return low | high << 16; }

/// n different words of different bytes
inline Words counted(std::uint32_t n) {
  Words in;
  for (std::uint32_t i = 0; i < n; ++i) in.push_back(0x01020304u + 0x10101u * i);
  return in;
}

/// Four rounds of 32 words, each in reverse
inline Words expected_hand_over() {
  const Words in = counted(128);
  Words out;
  for (std::size_t round = 0; round < 4; ++round)
    for (std::size_t i = 0; i < 32; ++i) out.push_back(in[32 * round + 31 - i]);
  return out;
}

/// The dump kept for this kernel: hexadecimal words
inline Words kept(const std::string& name) {
  std::ifstream file("validation/reference/conformance/" + name + ".txt");
  Words words;
  for (std::string word; file >> word;) words.push_back(static_cast<std::uint32_t>(std::stoul(word, nullptr, 16)));
  return words;
}
inline std::string as_text(const Words& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    char word[16];
    std::snprintf(word, sizeof word, "%08x%c", words[i], i % 8 == 7 ? '\n' : ' ');
    text += word;
  }
  return text;
}

struct Expectation {
  Words in, out;
  std::int64_t ulps = 0;  // by which a GPU's words may differ, as numbers of one sign
};

/// On a GPU (native.cpp says so), those of `actual` that are as near as they must be as expected, so that the rest shows. The
/// simulator's are exact.
inline Words settled(Words actual, const Expectation& expected) {
  if (std::getenv("TRIREME_ON_GPU") == nullptr) return actual;
  for (std::size_t i = 0; i < actual.size() && i < expected.out.size(); ++i)
    if (std::abs(std::int64_t{actual[i]} - std::int64_t{expected.out[i]}) <= expected.ulps) actual[i] = expected.out[i];
  return actual;
}

/// Every kernel gives what is expected, and that is what is kept.
inline void expect_conformance(const std::vector<kernels::cuda::Conformance>& kernels,
                               const std::map<std::string, Expectation>& expectations) {
  EXPECT_EQ(expectations.size(), kernels.size());
  for (const kernels::cuda::Conformance& kernel : kernels) {
    const Expectation& expected = expectations.at(kernel.name);
    ASSERT_EQ(expected.in.size(), kernel.in) << kernel.name;
    DeviceBuffer<std::uint32_t> in(expected.in), out(kernel.out);
    kernel.run(in.data(), out.data(), {});
    EXPECT_EQ(as_text(settled(out.values(), expected)), as_text(expected.out)) << kernel.name;
    EXPECT_EQ(as_text(expected.out), as_text(kept(kernel.name)))
        << kernel.name << " and its dump in validation/reference/conformance";
  }
}

}  // namespace trireme::simt
