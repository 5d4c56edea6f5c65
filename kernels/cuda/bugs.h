// Bugs that can be planted into the kernels, to see that the tests would find them: TRIREME_BUG(name) is true when that one is
// planted, which only the simulator can do. validation/unit/simt/kernels/mutations.np1.cpp plants each.
#pragma once

// One table for each file of kernels: X(name, what is wrong)

// dropout.cuh, row.cuh, fold.cuh; noticed by the checks of layer norm
#define TRIREME_BUGS_ROWS(X)                                                            \
  X(dropout_one_group, "the second four columns of a piece take the first four's mask") \
  X(fold_no_barrier, "the second stage reads before all have written")                  \
  X(fold_overwrites, "weight gradients are written, not accumulated")                   \
  X(dropout_row, "dropout takes row 0 for position 0")                                  \
  X(dropout_sample, "all samples have the first one's mask")                            \
  X(dropout_not_scaled, "what dropout keeps is not scaled")                             \
  X(row_sum_half_tree, "a warp's sum starts at a distance of 8")                        \
  X(row_sum_no_barrier, "a block's sum is read before all warps wrote theirs")

#define TRIREME_BUGS_LAYER_NORM(X)                                                               \
  X(layer_norm_row_bound, "a row is read one piece too far")                                     \
  X(layer_norm_counts_padding, "the variance counts what lies past the row's end")               \
  X(layer_norm_same_parts, "the second sum reuses memory that others still read")                \
  X(layer_norm_always_aligned, "16-byte accesses to rows that do not begin at a multiple of 16") \
  X(layer_norm_rounded_mean, "deviations keep what the mean was rounded by")                     \
  X(layer_norm_sums_not_zeroed, "the weight gradients' sums begin with what memory held")        \
  X(layer_norm_last_row, "the backward pass forgets the last row")                               \
  X(layer_norm_parity, "the sums of two rows share memory")                                      \
  X(layer_norm_long_not_scaled, "dgain of a long row lacks rstd")

// columns.cuh too
#define TRIREME_BUGS_RESIDUAL(X)                                                               \
  X(residual_bias_not_dropped, "the bias does not go through dropout")                         \
  X(residual_dbias_of_dy, "the bias gradient sums dy, not dx")                                 \
  X(residual_always_aligned, "16-byte accesses to rows that do not begin at a multiple of 16") \
  X(columns_no_barrier, "sums of a column are read before all have written")                   \
  X(columns_one_row_less, "one of a block's eight sums of a column is forgotten")              \
  X(columns_row_bound, "a row past the last one is summed")

#define TRIREME_BUGS_CROSS_ENTROPY(X)                                                        \
  X(cross_entropy_global_target, "the target is taken for a column of the range")            \
  X(cross_entropy_padding_target, "another range's target is taken for padding of this one") \
  X(cross_entropy_from_zero, "the maximum is never below 0")                                 \
  X(cross_entropy_padding_counts, "padding beside valid logits counts in the maximum")       \
  X(cross_entropy_no_barrier, "the maximum is taken before all warps wrote theirs")          \
  X(cross_entropy_sums_rounded, "what is summed is rounded first")

// numbers.cuh too
#define TRIREME_BUGS_OPTIMIZER(X)                                                              \
  X(flat_rest, "what is left of a buffer beside whole quads is not written")                   \
  X(adamw_square_not_scaled, "the second moment takes the gradient before it is unscaled")     \
  X(adamw_epsilon_inside, "epsilon stands under the root")                                     \
  X(adamw_old_copy, "the copy has the weights before the step")                                \
  X(adamw_always_aligned, "16-byte accesses to buffers that do not begin at a multiple of 16") \
  X(sums_square_in_fp32, "squares are rounded to fp32")

#define TRIREME_BUGS_EMBEDDING(X)                                                        \
  X(embedding_padding_token, "tokens of the next range get this one's padding")          \
  X(embedding_position_of_sample, "a row takes the position of its sample's number")     \
  X(embedding_sort_no_barrier, "keys are replaced while others still compare with them") \
  X(embedding_sort_ties, "equal tokens are sorted to one place")                         \
  X(embedding_first_batch, "a token's rows after the first eight are forgotten")         \
  X(embedding_every_row, "each of a token's rows is taken for the first one")            \
  X(embedding_overwrites, "gradients are written, not accumulated")

// tile.cuh; noticed by the checks of matrix products
#define TRIREME_BUGS_TILE(X)                                             \
  X(tile_row_bound, "rows past the matrix's end are read")               \
  X(tile_column_bound, "columns past the row's end are read")            \
  X(tile_fragments_swapped, "two registers of a fragment change places") \
  X(tile_transposed, "a fragment is loaded transposed")

// gemm*.cuh, gemm*.cu, gelu.cuh
#define TRIREME_BUGS_GEMM(X)                                                                   \
  X(gemm_column_bound, "columns past the result's end are written")                            \
  X(gemm_row_bound, "rows past the result's end are written")                                  \
  X(gemm_no_commit, "copies are never committed")                                              \
  X(gemm_waits_too_little, "the wait leaves the stage that is needed in flight")               \
  X(gemm_no_barrier, "a warp uses what others have not waited for")                            \
  X(gemm_stage_in_use, "a stage is filled while it is read")                                   \
  X(gemm_not_transposed, "fragments across k are loaded as those along it")                    \
  X(gemm_sums_too_early, "sums go to stages that others still read")                           \
  X(gemm_no_warp_barrier, "sums are read before all lanes wrote theirs")                       \
  X(gemm_last_group, "the last group of rows of tiles is taken for a whole one")               \
  X(gemm_part_slice, "all parts of the sum are written to the first's place")                  \
  X(gemm_part_end, "a part of the sum goes on to the end of k")                                \
  X(gemm_first_part, "the first part of the sum is forgotten")                                 \
  X(gemm_bias_in_parts, "every part of the sum has the bias")                                  \
  X(gemm_residual_late, "the residual is read after y was written")                            \
  X(gemm_pre_after_gelu, "pre is kept after the GELU")                                         \
  X(gelu_derivative_slope, "GELU's derivative forgets the cubic term")                         \
  X(gelu_derivative_far, "GELU's derivative overflows far from 0")                             \
  X(gemm_overwrites, "the weight gradient is written, not accumulated")                        \
  X(gemm_row_sums_again, "every column of tiles counts the bias gradient")                     \
  X(gemm_row_sums_too_early, "sums for the bias gradient go to stages that others still read") \
  X(gemm_row_sums_no_barrier, "the bias gradient is read before all warps wrote theirs")       \
  X(gemm_fp32_no_barrier, "fp32 tiles are read before all threads stored theirs")

// gemm_tensor.cu: right in every order that the simulator has, wrong by CUDA's rules: for ThreadSanitizer to find
#define TRIREME_BUGS_GEMM_RACES(X) X(gemm_vote_for_barrier, "lanes meet in a vote, which orders no memory")

// pipeline_sm90.cu
#define TRIREME_BUGS_PIPELINE(X)                                                                  \
  X(pipeline_init_unseen, "mbarriers are used with no barrier after their init")                  \
  X(pipeline_init_not_fenced, "the init of mbarriers is not fenced for TMA")                      \
  X(pipeline_empty_not_awaited, "a stage is filled though nobody released it")                    \
  X(pipeline_parity, "the wait for an empty stage has the other parity")                          \
  X(pipeline_bytes, "more bytes are expected than TMA brings")                                    \
  X(pipeline_full_not_awaited, "a stage is used before it is filled")                             \
  X(pipeline_stage_in_use, "a stage is released while wgmma reads it")                            \
  X(pipeline_one_arrival, "one warp releases a stage for its warpgroup")                          \
  X(pipeline_no_wgmma_fence, "no wgmma.fence before the registers' use")                          \
  X(pipeline_no_wgmma_wait, "sums are used while wgmma works on them")                            \
  X(pipeline_descriptor, "a descriptor has half the stride")                                      \
  X(pipeline_depth_step, "a descriptor advances by elements, not bytes")                          \
  X(pipeline_no_proxy_fence, "TMA stores what threads wrote, with no fence between them")         \
  X(pipeline_no_barrier, "TMA stores before all warps wrote")                                     \
  X(pipeline_store_not_committed, "stores are never committed")                                   \
  X(pipeline_result_in_use, "the result's shared memory is written again while a store reads it") \
  X(pipeline_store_not_awaited, "the block ends while its last store reads shared memory")

// attention.cu, and the products in attention.cuh
#define TRIREME_BUGS_ATTENTION(X)                                                       \
  X(attention_no_commit, "copies of keys and values are never committed")               \
  X(attention_waits_too_little, "the wait leaves the tile that is needed in flight")    \
  X(attention_no_barrier, "a warp uses keys that others have not waited for")           \
  X(attention_stage_in_use, "a stage is filled while it is read")                       \
  X(attention_mask_off_by_one, "a query sees one key too many")                         \
  X(attention_mask_one_row, "the rows 8 below are masked like those above")             \
  X(attention_maximum_of_half, "the maximum is that of half of the keys")               \
  X(attention_total_not_scaled, "the sum keeps the scale of an older maximum")          \
  X(attention_values_not_scaled, "the values' sums keep the scale of an older maximum") \
  X(attention_scale, "natural scores meet exponentials of base 2")                      \
  X(attention_fragments_swapped, "two registers of the probabilities change places")    \
  X(attention_total_of_half, "the sum is that of half of the keys")                     \
  X(attention_row_bound, "rows past the sequence's end are written")                    \
  X(attention_dropout_group, "all groups of keys take the first one's mask")            \
  X(attention_dropout_before_sum, "dropout acts before the sum")

#define TRIREME_BUGS_ATTENTION_FP32(X)                                                \
  X(attention_fp32_no_barrier, "a warp uses keys that others have not written")       \
  X(attention_fp32_tile_in_use, "keys are overwritten while another warp reads them") \
  X(attention_fp32_mask, "a query sees one key too many")                             \
  X(attention_fp32_not_scaled, "the values' sums keep the scale of an older maximum") \
  X(attention_fp32_dropout_row, "all warps take the first one's mask")

// attention_backward*, and the dropout of fragments in attention.cuh
#define TRIREME_BUGS_ATTENTION_BACKWARD(X)                                                   \
  X(attention_backward_no_delta, "dS is P dP")                                               \
  X(attention_backward_short_delta, "delta forgets the head's last elements")                \
  X(attention_backward_no_mask, "keys behind the query count")                               \
  X(attention_backward_not_itself, "a position does not see itself")                         \
  X(attention_backward_undropped, "dP does not pass through the dropout")                    \
  X(attention_backward_mask_layout, "transposed scores take the mask of straight ones")      \
  X(attention_backward_mask_lanes, "lanes keep the mask that their neighbours should have")  \
  X(attention_backward_no_scale, "the gradients of queries and keys are not scaled")         \
  X(attention_backward_first_tile, "keys begin one tile of queries too late")                \
  X(attention_backward_row_bound, "a gradient past the sequence's end is written")           \
  X(attention_backward_no_commit, "copies are never committed")                              \
  X(attention_backward_no_barrier, "a warp uses what others have not waited for")            \
  X(attention_backward_stage_in_use, "a stage is filled while it is read")                   \
  X(attention_backward_fp32_no_barrier, "P and dS are read before all have written theirs")  \
  X(attention_backward_fp32_no_second_barrier, "a tile is overwritten while others read it") \
  X(attention_backward_fp32_last_keys, "queries forget the keys of the diagonal's tile")

#define TRIREME_BUGS(X)              \
  TRIREME_BUGS_ROWS(X)               \
  TRIREME_BUGS_LAYER_NORM(X)         \
  TRIREME_BUGS_RESIDUAL(X)           \
  TRIREME_BUGS_CROSS_ENTROPY(X)      \
  TRIREME_BUGS_OPTIMIZER(X)          \
  TRIREME_BUGS_EMBEDDING(X)          \
  TRIREME_BUGS_TILE(X)               \
  TRIREME_BUGS_GEMM(X)               \
  TRIREME_BUGS_GEMM_RACES(X)         \
  TRIREME_BUGS_ATTENTION(X)          \
  TRIREME_BUGS_ATTENTION_FP32(X)     \
  TRIREME_BUGS_ATTENTION_BACKWARD(X) \
  TRIREME_BUGS_PIPELINE(X)

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
