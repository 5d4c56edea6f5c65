// Launchers of matrix products on tensor cores: the operations of kernels.h of these names, for bf16 and fp16 (all operands of
// one type), products summed in fp32. flops and bytes: cost.h, of the same names.
#pragma once

#include "kernels/cuda/stream.h"
#include "kernels/kernels.h"

namespace trireme::kernels::cuda {

void linear(LinearShape shape, View x, View weight, View bias, View y, Stream stream);
void linear_gelu(LinearShape shape, View x, View weight, View bias, View pre, View y, Stream stream);

}  // namespace trireme::kernels::cuda
