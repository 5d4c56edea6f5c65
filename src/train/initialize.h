// Initial weights: a pure function of (seed, parameter name, global element), whatever the layout.
#pragma once

#include "kernels/device.h"
#include "spec/local_table.h"

namespace trireme::train {

/// Writes every row of `table` in `weights` (host memory order as in the table). Padding stays zero. No communication.
void initialize_weights(const spec::LocalTable& table, std::uint64_t seed, kernels::Device& device, kernels::View weights);

}  // namespace trireme::train
