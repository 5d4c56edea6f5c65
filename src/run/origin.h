// Where the first state of a run comes from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "store/checkpoint_reader.h"
#include "store/gpt2_names.h"
#include "train/state.h"

namespace trireme::run {

/// A file of weights, or a checkpoint, or neither: then the weights are random.
struct Origin {
  std::optional<store::Gpt2Weights> file;
  std::unique_ptr<store::CheckpointReader> checkpoint;
  bool moments = false;   // Adam's are read too
  std::int64_t step = 0;  // steps done
};

/// What sets a rank's state from `origin`, which outlives it; empty: the weights are drawn.
train::StateSource state_source(const Origin& origin);

}  // namespace trireme::run
