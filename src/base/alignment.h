// Where buffers may begin: what the arenas take and what is predicted of them follow from the same number.
#pragma once

#include <cstdint>

namespace trireme::base {

inline constexpr std::int64_t buffer_alignment = 64;  // bytes: a cache line, and the widest vector

/// The least multiple of `multiple` that is not below n >= 0.
constexpr std::int64_t round_up(std::int64_t n, std::int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

}  // namespace trireme::base
