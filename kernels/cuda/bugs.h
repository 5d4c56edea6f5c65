// Bugs that can be planted into the kernels, to see that the tests would find them: TRIREME_BUG(name) is true when that one is
// planted, which only the simulator can do. validation/unit/simt_mutations.np1.cpp plants each.
#pragma once

// One table for each file of kernels: X(name, what is wrong)

// dropout.cuh, row.cuh; noticed by the checks of layer norm
#define TRIREME_BUGS_ROWS(X)                                     \
  X(dropout_not_scaled, "what dropout keeps is not scaled")      \
  X(row_sum_half_tree, "a warp's sum starts at a distance of 8") \
  X(row_sum_no_barrier, "a block's sum is read before all warps wrote theirs")

#define TRIREME_BUGS_LAYER_NORM(X)                                                               \
  X(layer_norm_one_group, "the second four columns of a piece take the first four's mask")       \
  X(layer_norm_row_bound, "a row is read one piece too far")                                     \
  X(layer_norm_counts_padding, "the variance counts what lies past the row's end")               \
  X(layer_norm_same_parts, "the second sum reuses memory that others still read")                \
  X(layer_norm_always_aligned, "16-byte accesses to rows that do not begin at a multiple of 16") \
  X(layer_norm_sums_not_zeroed, "the weight gradients' sums begin with what memory held")        \
  X(layer_norm_last_row, "the backward pass forgets the last row")                               \
  X(layer_norm_parity, "the sums of two rows share memory")                                      \
  X(layer_norm_fold_no_barrier, "the second stage reads before all have written")                \
  X(layer_norm_overwrites, "weight gradients are written, not accumulated")

// tile.cuh; noticed by the checks of matrix products
#define TRIREME_BUGS_TILE(X)                                             \
  X(tile_row_bound, "rows past the matrix's end are read")               \
  X(tile_column_bound, "columns past the row's end are read")            \
  X(tile_fragments_swapped, "two registers of a fragment change places") \
  X(tile_transposed, "a fragment is loaded transposed")

#define TRIREME_BUGS_GEMM(X)                                                     \
  X(gemm_column_bound, "columns past the result's end are written")              \
  X(gemm_no_commit, "copies are never committed")                                \
  X(gemm_waits_too_little, "the wait leaves the stage that is needed in flight") \
  X(gemm_no_barrier, "a warp uses what others have not waited for")              \
  X(gemm_stage_in_use, "a stage is filled while it is read")

#define TRIREME_BUGS(X) TRIREME_BUGS_ROWS(X) TRIREME_BUGS_LAYER_NORM(X) TRIREME_BUGS_TILE(X) TRIREME_BUGS_GEMM(X)

namespace trireme::kernels::cuda {

enum class Bug {
  none,
#define TRIREME_BUG_NAME(name, what) name,
  TRIREME_BUGS(TRIREME_BUG_NAME)
#undef TRIREME_BUG_NAME
};

}  // namespace trireme::kernels::cuda

#if defined(__CUDACC__)
#define TRIREME_BUG(name) false
#else
#include "kernels/simt/engine.h"
#define TRIREME_BUG(name) ::trireme::simt::planted(static_cast<int>(::trireme::kernels::cuda::Bug::name))
#endif
