// The state that training goes on from: what a checkpoint holds of it on one rank.
#pragma once

#include <functional>

#include "kernels/device.h"
#include "spec/local_table.h"
#include "train/loss_scale.h"

namespace trireme::train {

/// This rank's part: flat buffers with the places of `table`; and the loss scale, which all ranks hold.
struct TrainingState {
  const spec::LocalTable& table;
  kernels::View weights, first_moment, second_moment;
  LossScale& loss_scale;
};

/// Fills the state of one rank before the first step; no communication. What throws is agreed by all ranks.
using StateSource = std::function<void(const TrainingState& state, kernels::Device& device)>;

}  // namespace trireme::train
