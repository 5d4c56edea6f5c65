// Finding the checkpoint to go on from, comparing it with the configuration, and reading it into whatever layout runs now.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/reader.h"
#include "grid/world.h"
#include "store/checkpoint_reader.h"
#include "train/state.h"

namespace trireme::run {

struct Verified {
  std::unique_ptr<store::CheckpointReader> reader;  // null: there is no checkpoint at all
  std::vector<std::string> damaged;                 // names of newer ones that were passed over
};

/// Every rank, each checks its share of the files; all return the same checkpoint: the newest in `folder`
/// (RUN/checkpoints) every byte of which is as it was written. Rank 0 says which were passed over
/// and why. When there are some and none verifies: grid::Agreed(mismatch), and nothing was changed.
Verified newest_verified(grid::World& world, const std::string& folder);

/// Every rank: a reader of the checkpoint that `path` names (a step folder, or the newest of a run); grid::Agreed(mismatch) when
/// it does not verify, (bad_input) when there is none.
std::unique_ptr<store::CheckpointReader> verified(grid::World& world, const std::string& path);

/// Refuses (bad_input) a checkpoint of another model: each key with both values, and the cure.
void check_same_model(const store::CheckpointReader& checkpoint, const config::Resolved& resolved);

/// Refuses (bad_input) changes that a resumed run cannot honour: of the model, of what decides which samples a step takes, and,
/// unless `weights_only`, of the training data, which is `data` now. Returns a line for each other change since the checkpoint:
/// "optimizer.learning_rate: 0.001 -> 0.0001".
std::vector<std::string> check_resume(const store::CheckpointReader& checkpoint, const config::Resolved& resolved,
                                      const store::DataRecord& data, bool weights_only);

/// Whether a run of the configuration that the checkpoint was written with evaluates after its step.
bool evaluation_was_due(const store::CheckpointReader& checkpoint);

/// Reads this rank's slices of every row, copies included; `moments`: Adam's two as well, and the loss scale. No communication.
void load_state(const store::CheckpointReader& checkpoint, const train::TrainingState& state, bool moments,
                kernels::Device& device);

}  // namespace trireme::run
