// One micro-kernel per instruction wrapper of ptx.cuh and ptx_sm90.cuh. Inputs are coded integers, every register is dumped: the
// dump shows which lane holds what, so the simulator's and a GPU's can be compared bit by bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cuda/target.h"

namespace trireme::kernels::cuda {

/// `in` and `out` are device memory of so many 32-bit words.
struct Conformance {
  const char* name;
  std::size_t in, out;
  void (*run)(const std::uint32_t* in, std::uint32_t* out, const Target& target);
};

/// Those of ptx.cuh, and those of ptx_sm90.cuh
std::vector<Conformance> conformance();
std::vector<Conformance> conformance_sm90();

}  // namespace trireme::kernels::cuda
