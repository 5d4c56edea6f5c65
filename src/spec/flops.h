// Floating-point operations of a training step, by both conventions in use (they are named wherever a number is printed).
#pragma once

#include "config/config.h"

namespace trireme::spec {

/// Of one token's forward pass through one transformer layer: 24 h^2 + 4 s h (attention dense, not halved for causality).
double layer_flops(const config::Model& model);
/// Of one token's forward pass through the output layer: 2 h V.
double head_flops(const config::Model& model);

/// Model FLOPs of one step: forward and backward once, 72 B s l h^2 (1 + s/(6h) + V/(12 l h)).
double model_flops(const config::Model& model, double global_batch);
/// Hardware FLOPs of one step: as the paper's section 5.1 and equation 3, where full recomputation runs every layer forward
/// once more: 96 B s l h^2 (1 + s/(6h) + V/(16 l h)). Without recomputation the same number as model_flops.
double hardware_flops(const config::Model& model, const config::Parallel& parallel, double global_batch);

}  // namespace trireme::spec
