// Launchers of the optimizer and of what surrounds it, over flat buffers of fp32. flops and bytes: cost.h, of the same names.
#pragma once

#include "kernels/cuda/target.h"
#include "kernels/kernels.h"

namespace trireme::kernels::cuda {

/// kernels.h's clip, by one thread: its sum has an order
void clip(double clip, double loss_scale, View squares, View record, const Target& target);

/// kernels.h's AdamW on the master weights and their moments, all fp32, as many as `weight` has; in the same pass the copy.
void adamw(AdamW step, View weight, View gradient, View first_moment, View second_moment, View copy, const Target& target);

/// y += x, both fp32 or both fp64
void add(View y, View x, const Target& target);

/// to := from, rounded to nearest; fp32 to bf16 or fp16, or back
void cast(View to, View from, const Target& target);

/// fp64 elements that the sums below need as scratch for n elements of fp32
std::int64_t sum_scratch(std::int64_t n);

/// result [1], fp64, of all of x; the order of the sums follows from the number of elements alone. The count, of any compute
/// type, is exact below 2^53. A sum of fp64 cells is formed by one thread, in their order, without scratch.
void squared_norm(View x, View result, View scratch, const Target& target);
void sum(View x, View result, View scratch, const Target& target);
void non_finite_count(View x, View result, View scratch, const Target& target);

}  // namespace trireme::kernels::cuda
