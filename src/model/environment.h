// What every part of a model computes with.
#pragma once

#include <cstdint>

#include "grid/progress.h"
#include "kernels/kernels.h"
#include "model/dimensions.h"
#include "model/region.h"

namespace trireme::model {

struct Environment {
  kernels::Kernels& kernels;
  Region region;             // of the tensor-parallel group
  grid::Progress& progress;  // polled between kernels, so that transfers advance
  Dimensions dims;
  float dropout;       // rate
  std::uint64_t seed;  // of the run
};

/// Where dropout acts.
enum class Site { embedding, attention, attention_output, mlp_output };

/// The mask of `site` in `layer` for a microbatch whose first sample is number `first_sample` of the run. Rate 0 in evaluation.
kernels::Dropout dropout_at(const Environment& env, Site site, int layer, std::uint64_t first_sample, bool training);

}  // namespace trireme::model
