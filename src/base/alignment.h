// Where buffers may begin: what the arenas take and what is predicted of them follow from the same number.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace trireme::base {

inline constexpr std::int64_t buffer_alignment = 64;  // bytes: a cache line, and the widest vector

/// The least multiple of `multiple` that is not below n >= 0.
constexpr std::int64_t round_up(std::int64_t n, std::int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

/// What an arena gives for `count` elements, bytes.
constexpr std::int64_t aligned_bytes(DType type, std::int64_t count) {
  return round_up(count * bytes_of(type), buffer_alignment);
}

/// `count` rounded up so that another buffer may follow, elements.
constexpr std::int64_t aligned_count(DType type, std::int64_t count) {
  return round_up(count, buffer_alignment / bytes_of(type));
}

}  // namespace trireme::base
