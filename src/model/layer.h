// One transformer layer, tensor-parallel as in section 2.3 of arXiv 2104.04473: pre-layer-norm attention and MLP, each with a
// column-parallel and a row-parallel matrix, one all-reduce forward and one backward.
#pragma once

#include "model/environment.h"
#include "model/parameters.h"

namespace trireme::model {

/// What the backward pass of one layer and one microbatch needs; n = s b.
struct LayerActivations {
  View norm1, mean1, rstd1;  // [n, h], [n], [n]
  View qkv;                  // [s, b, 3, a/t, h/a]
  View attention, log_sum;   // [n, h/t], [b, a/t, s]
  View middle;               // [n, h]: input of the second norm
  View norm2, mean2, rstd2;  // [n, h], [n], [n]
  View up, gelu;             // [n, 4h/t]: before and after GELU
  View output;               // [n, h]
};
LayerActivations take_layer_activations(kernels::Arena& arena, const Dimensions& dims);

/// Shared by all layers of a stage; holds nothing between calls.
struct LayerScratch {
  View partial;      // [n, h]: a row-parallel product before its all-reduce; a masked gradient
  View d_norm;       // [n, h]
  View d_wide;       // [n, 4h/t]
  View d_attention;  // [n, h/t]
  View d_qkv;        // [n, 3h/t]
};
LayerScratch take_layer_scratch(kernels::Arena& arena, const Dimensions& dims);

/// Which pass over which samples: the dropout masks follow from it.
struct Pass {
  std::uint64_t first_sample = 0;  // number in the run's order of the microbatch's first sample
  bool training = true;
};

/// x [n, h] -> act.output. All tensor ranks of the stage call it.
void layer_forward(const Environment& env, int layer, const LayerParameters& weights, View x, Pass pass,
                   const LayerActivations& act, const LayerScratch& scratch);

/// d [n, h]: gradient of the output on entry, of the input x on return. Gradients of the weights accumulate.
void layer_backward(const Environment& env, int layer, const LayerParameters& weights, const LayerParameters& gradients, View x,
                    Pass pass, const LayerActivations& act, const LayerScratch& scratch, View d);

}  // namespace trireme::model
