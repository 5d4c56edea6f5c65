// Final layer norm, output layer (the token embedding's transpose) and cross-entropy, split by vocabulary. The logits live
// within one call: the forward pass forms the loss and, in place, the logits' gradient, and goes on to the gradient of its input.
#pragma once

#include "model/buffers.h"
#include "model/environment.h"
#include "model/parameters.h"

namespace trireme::model {

/// A microbatch at the head: what it brings, and where its loss goes.
struct HeadPass {
  View x;        // [n, h]
  View targets;  // [s, b], int32
  View loss;     // fp64 [1] := sum over the n targets of the loss, in nats
};

/// Writes the loss; nothing else changes but `at`, where the head's buffers are.
void head_loss(const Environment& env, const StageParameters& weights, const HeadPass& pass, const Buffers& at);

/// The same, and d [n, h] = gradient of scale * the loss with respect to x; gradients of the norm and of the output layer
/// accumulate. All tensor ranks of the last stage call it.
void head_loss_and_gradient(const Environment& env, const StageParameters& weights, const StageParameters& gradients,
                            const HeadPass& pass, float scale, const Buffers& at, View d);

}  // namespace trireme::model
