// Final layer norm, output layer (the token embedding's transpose) and cross-entropy, split by vocabulary. The logits live
// within one call: the forward pass forms the loss and, in place, the logits' gradient, and goes on to the gradient of its input.
#pragma once

#include "model/buffers.h"
#include "model/environment.h"
#include "model/parameters.h"

namespace trireme::model {

/// loss (fp64 [1]) := sum over the microbatch's n targets (int32 [s, b]) of the loss in nats, from x [n, h]; nothing else changes
/// but `at`, where the head's buffers are.
void head_loss(const Environment& env, const StageParameters& weights, View x, View targets, const Buffers& at, View loss);

/// The same, and d [n, h] = gradient of scale * that sum with respect to x; gradients of the norm and of the output layer
/// accumulate. All tensor ranks of the last stage call it.
void head_loss_and_gradient(const Environment& env, const StageParameters& weights, const StageParameters& gradients, View x,
                            View targets, float scale, const Buffers& at, View loss, View d);

}  // namespace trireme::model
