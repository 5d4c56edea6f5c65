// What a rank keeps of each of its parameters, each at the places of the local table in a flat buffer of its own.
#pragma once

#include <array>
#include <cstdint>

#include "base/dtype.h"
#include "config/config.h"

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

/// Of activations and of the weights that products read: precision.compute.
inline base::DType compute_type(const config::Config& config) {
  const std::string& word = config.precision.compute;
  return word == "bf16" ? base::DType::bf16 : word == "fp16" ? base::DType::fp16 : base::DType::fp32;
}
/// Whether a rank keeps its weights rounded to that type beside them. In fp32 products read the weights themselves.
constexpr bool has_compute_copy(base::DType compute) { return compute != type_of(State::weight); }

/// A weight in host memory, of type_of(State::weight).
using HostWeight = float;
static_assert(bytes_of(type_of(State::weight)) == sizeof(HostWeight));

}  // namespace trireme::spec
