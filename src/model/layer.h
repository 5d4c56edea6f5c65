// One transformer layer, tensor-parallel as in section 2.3 of arXiv 2104.04473: pre-layer-norm attention and MLP, each with a
// column-parallel and a row-parallel matrix, one all-reduce forward and one backward.
#pragma once

#include <functional>

#include "model/buffers.h"
#include "model/environment.h"
#include "model/parameters.h"

namespace trireme::model {

/// Which pass over which samples: the dropout masks follow from it.
struct Pass {
  std::uint64_t first_sample = 0;  // number in the run's order of the microbatch's first sample
  bool training = true;
};

/// A layer at work on one microbatch.
struct LayerCall {
  int layer;
  const LayerParameters& weights;
  View x;  // [n, h], its input
  Pass pass;
  const Buffers& at;  // where its own are
};

/// x -> the layer's output, in `at`, where its other buffers are too. All tensor ranks of the stage call it.
void layer_forward(const Environment& env, const LayerCall& call);

/// A layer's two residual blocks, each with a column-parallel and a row-parallel matrix.
enum class Block { attention, mlp };

/// The first half of the backward pass. d [n, h]: gradient of the output on entry, of the input x on return. The gradients of
/// norms and biases accumulate; those of the matrices are left to layer_weight_gradient. When a block's input gradient is formed,
/// and while it is summed over the tensor ranks, `matrices(block, dy)` is called: dy [n, h] and the buffers of Life::halves hold
/// what the second half reads until `matrices` returns. `at` is as layer_forward left it, but for what all layers share.
void layer_input_gradient(const Environment& env, const LayerCall& call, const LayerParameters& gradients, View d,
                          const std::function<void(Block, View)>& matrices);

/// The second half, of one block: the gradients of its two matrices accumulate. Sends nothing.
void layer_weight_gradient(const Environment& env, const LayerParameters& gradients, Block block, View dy, const Buffers& at);

}  // namespace trireme::model
