// Token and position embedding, split by vocabulary (section 2.3 of arXiv 2104.04473).
#pragma once

#include "model/environment.h"
#include "model/layer.h"
#include "model/parameters.h"

namespace trireme::model {

/// tokens [s, b] int32 -> x [n, h] = dropout(token row + position row). All tensor ranks of the first stage call it.
void embedding_forward(const Environment& env, const StageParameters& weights, View tokens, Pass pass, View x);

/// d [n, h]: gradient of x, destroyed. The gradients of both tables accumulate.
void embedding_backward(const Environment& env, const StageParameters& gradients, View tokens, Pass pass, View d);

}  // namespace trireme::model
