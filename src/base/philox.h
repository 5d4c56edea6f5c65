// Counter-based random numbers (Philox4x32-10; Salmon et al., SC'11): a value is a pure function of (key, counter), so that
// no layout of ranks, order of calls or restart can change it. The same bits on CPU and GPU.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include <Random123/philox.h>

namespace trireme::base {

/// 64-bit FNV-1a of `text`, the name of a random stream.
constexpr std::uint64_t stream_id(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

/// The key of one stream of one run: seed and stream mixed by the finalizer of SplitMix64.
constexpr std::uint64_t stream_key(std::uint64_t seed, std::uint64_t stream) {
  std::uint64_t z = seed * 0x9e3779b97f4a7c15ull ^ stream;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

/// Four independent 32-bit words for the 128-bit counter (high, low) under `key`.
inline std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t high, std::uint64_t low) {
  using Generator = r123::Philox4x32;
  const Generator::ctr_type counter = {{static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
                                        static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)}};
  const Generator::key_type keys = {{static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)}};
  const Generator::ctr_type words = Generator()(counter, keys);
  return {words[0], words[1], words[2], words[3]};
}

/// Uniform in (0, 1) from a word; never 0 or 1.
constexpr double uniform(std::uint32_t word) { return (static_cast<double>(word) + 0.5) * 0x1p-32; }

/// Element `index` of a stream of independent N(0, 1) values (Box-Muller, two pairs a block).
inline double normal(std::uint64_t key, std::uint64_t index) {
  constexpr double two_pi = 6.283185307179586476925286766559;
  const auto words = philox(key, 0, index / 4);
  const unsigned pair = static_cast<unsigned>(index % 4) / 2 * 2;
  const double radius = std::sqrt(-2.0 * std::log(uniform(words[pair])));
  const double angle = two_pi * uniform(words[pair + 1]);
  return radius * (index % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

}  // namespace trireme::base
