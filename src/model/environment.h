// What every part of a model computes with.
#pragma once

#include <cstdint>

#include "grid/communicator.h"
#include "grid/progress.h"
#include "kernels/kernels.h"
#include "model/dimensions.h"

namespace trireme::model {

struct Environment {
  kernels::Kernels& kernels;
  grid::Communicator& tensor;  // the tensor-parallel group
  grid::Progress& progress;    // polled between kernels, so that transfers advance
  Dimensions dims;
  float dropout;       // rate
  std::uint64_t seed;  // of the run

  bool split() const { return tensor.size() > 1; }
  /// In place, done before the next kernel: the g operator's forward pass, and f's backward pass (section 2.3).
  void all_reduce(kernels::View v) const {
    tensor.order_after(tensor.all_reduce(v, grid::Reduce::sum, grid::Traffic::tp_all_reduce));
  }
};

/// Where dropout acts.
enum class Site { embedding, attention, attention_output, mlp_output };

/// The mask of `site` in `layer` for a microbatch whose first sample is number `first_sample` of the run. Rate 0 in evaluation.
kernels::Dropout dropout_at(const Environment& env, Site site, int layer, std::uint64_t first_sample, bool training);

}  // namespace trireme::model
