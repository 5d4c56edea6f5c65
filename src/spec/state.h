// What a rank keeps of each of its parameters, each at the places of the local table in a flat buffer of its own.
#pragma once

#include <array>
#include <cstdint>

#include "base/dtype.h"

namespace trireme::spec {

enum class State { weight, gradient, first_moment, second_moment };

struct StateFacts {
  State state;
  base::DType type;
  bool stored;  // in a checkpoint
};

inline constexpr std::array<StateFacts, 4> parameter_state = {{{State::weight, base::DType::fp32, true},
                                                               {State::gradient, base::DType::fp32, false},
                                                               {State::first_moment, base::DType::fp32, true},
                                                               {State::second_moment, base::DType::fp32, true}}};

constexpr base::DType type_of(State state) { return parameter_state[static_cast<std::size_t>(state)].type; }

/// Bytes that a checkpoint holds of an element of a parameter.
constexpr std::int64_t stored_bytes() {
  std::int64_t bytes = 0;
  for (const StateFacts& facts : parameter_state)
    if (facts.stored) bytes += bytes_of(facts.type);
  return bytes;
}

/// A weight in host memory, of type_of(State::weight).
using HostWeight = float;
static_assert(bytes_of(type_of(State::weight)) == sizeof(HostWeight));

}  // namespace trireme::spec
