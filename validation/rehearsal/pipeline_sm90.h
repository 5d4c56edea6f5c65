// A matrix product as Hopper's kernels are built: one warp brings tiles by TMA, two warpgroups multiply them by wgmma, results
// leave by TMA. A rehearsal for the simulator and its planted bugs.
#pragma once

#include "kernels/cuda/target.h"
#include "kernels/kernels.h"

namespace trireme::kernels::cuda {

/// y [rows, out] = x [rows, in] weight [out, in]^T in bf16, summed in fp32, by a block a multiprocessor, which share the
/// tiles. Needs in and out to be multiples of 8 and 16-byte aligned views; std::invalid_argument otherwise.
void linear_pipelined(LinearShape shape, View x, View weight, View y, const Target& target);

}  // namespace trireme::kernels::cuda
