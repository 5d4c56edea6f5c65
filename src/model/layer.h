// One transformer layer, tensor-parallel as in section 2.3 of arXiv 2104.04473: pre-layer-norm attention and MLP, each with a
// column-parallel and a row-parallel matrix, one all-reduce forward and one backward.
#pragma once

#include "model/buffers.h"
#include "model/environment.h"
#include "model/parameters.h"

namespace trireme::model {

/// Which pass over which samples: the dropout masks follow from it.
struct Pass {
  std::uint64_t first_sample = 0;  // number in the run's order of the microbatch's first sample
  bool training = true;
};

/// x [n, h] -> the layer's output, in `at`, where its other buffers are too. All tensor ranks of the stage call it.
void layer_forward(const Environment& env, int layer, const LayerParameters& weights, View x, Pass pass, const Buffers& at);

/// d [n, h]: gradient of the output on entry, of the input x on return. Gradients of the weights accumulate. `at` is as
/// layer_forward left it, but for what all layers share.
void layer_backward(const Environment& env, int layer, const LayerParameters& weights, const LayerParameters& gradients, View x,
                    Pass pass, const Buffers& at, View d);

}  // namespace trireme::model
