// The state that training goes on from, and where the first one comes from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "kernels/device.h"
#include "spec/local_table.h"
#include "store/checkpoint_reader.h"
#include "store/gpt2_names.h"

namespace trireme::train {

/// This rank's part of a checkpoint: flat buffers with the places of `table`.
struct TrainingState {
  const spec::LocalTable& table;
  kernels::View weights, first_moment, second_moment;
};

/// A file of weights, or a checkpoint, or neither: then the weights are random.
struct Origin {
  std::optional<store::Gpt2Weights> file;
  std::unique_ptr<store::CheckpointReader> checkpoint;
  bool moments = false;   // Adam's are read too
  std::int64_t step = 0;  // steps done
};

}  // namespace trireme::train
