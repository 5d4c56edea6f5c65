// The arithmetic of reductions on host memory.
#pragma once

#include <vector>

#include "grid/communicator.h"

namespace trireme::grid {

/// out[i] = sources[0][i] op sources[1][i] op ..., in that order, for i < out.count; the sources have the type of `out`, and one
/// of them may be `out` itself. bf16 and fp16 are added as fp32, and the result is rounded once.
void reduce_in_order(kernels::View out, const std::vector<const void*>& sources, Reduce op);

}  // namespace trireme::grid
