// What this machine gives a rank, measured when a run starts.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace trireme::run {

/// FLOP/s of fp32 matrix products of 512 x 512 x 512, over about 100 ms; less than the core's where ranks share cores.
double measure_peak_flops(kernels::Kernels& kernels, kernels::Device& device);

/// Resident memory of this process that no file backs, bytes: what it allocated and touched, mapped files apart.
std::int64_t private_memory();

/// Gives back to the system what this process freed and its allocator kept: after a save or a trace, which take memory for a
/// moment, so that a run stays at what was predicted. Where the C library cannot, nothing.
void return_free_memory();

/// From here on the allocator gives back a large block at once when it is freed. By itself the C library learns from the first
/// one to keep blocks of its size, megabytes of them. Where it cannot be told, nothing.
void return_large_blocks();

/// The largest resident memory of this process so far, bytes; mapped files count.
std::int64_t peak_resident_memory();

}  // namespace trireme::run
