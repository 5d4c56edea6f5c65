// Saving a run's state while training goes on: a step waits only for a copy in memory; one thread a rank writes it.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "grid/grid.h"
#include "kernels/device.h"
#include "spec/state.h"
#include "store/shard.h"
#include "train/state.h"

namespace trireme::run {

/// What is the same in all checkpoints of a run.
struct CheckpointPlan {
  std::string folder;                     // RUN/checkpoints
  std::string config;                     // the resolved input file
  std::int64_t batch = 0;                 // samples a step
  std::int64_t keep = 0;                  // checkpoints that stay; 0: all
  store::DataRecord data;                 // what is trained on
  std::vector<std::string> damaged = {};  // names of those that do not count
  std::function<void()> permit = {};      // on rank 0: throws base::Error when the folder must not be changed
};

/// Every rank calls every member, in the same order, but `busy`. A save goes through two phases, each on a thread of its own:
/// all ranks write their shards; then rank 0 checks coverage, publishes and removes what is old. What fails is thrown as
/// grid::Agreed on all ranks, after one has said why; nothing published before is lost then, and the next save starts anew.
class CheckpointWriter {
 public:
  /// Takes a snapshot's memory, pinned: `snapshot_bytes` as predicted (spec/memory.h); 0: none, and every save is a finished one.
  CheckpointWriter(const train::TrainingState& state, CheckpointPlan plan, kernels::Device& device, grid::Grid& grid,
                   std::int64_t snapshot_bytes);

  /// Starts to save the state after `step` steps; first finishes a save that is still under way. With a snapshot it returns when
  /// the copy is made, without one when all is published. Nothing to do where `step` is saved already.
  void save(std::int64_t step);
  /// 1 while this rank's thread works, else 0: to be reduced by maximum over all ranks.
  std::int64_t busy() const;
  /// Takes that maximum; when no rank is busy, the save goes to its next phase. True when a save has just been published.
  bool advance(std::int64_t busy_ranks);
  /// Returns when the save under way, if any, is published.
  void finish();

  /// Steps in the newest checkpoint published by this object, or resumed from; -1: none.
  std::int64_t saved_step() const { return saved_; }
  void set_saved_step(std::int64_t step) { saved_ = step; }
  /// Where checkpoints go; those of saves that begin after move_to, on rank 0.
  const std::string& folder() const { return plan_.folder; }
  void move_to(const std::string& folder) { plan_.folder = folder; }
  const kernels::Arena& arena() const { return arena_; }
  /// Rank 0: what could not be done about the last save although the checkpoint is complete; else empty.
  const std::string& warning() const { return warning_; }
  /// Of the last save, from its start to its publication.
  double seconds() const { return seconds_; }

 private:
  enum class Phase { idle, writing, publishing };
  std::vector<store::TensorPart> take_parts();
  kernels::View memory_for_copies();
  void start_writing(std::vector<store::TensorPart> parts);
  void start_publishing();
  void agree(const std::function<void()>& work);
  void remove_partials() const;

  train::TrainingState state_;
  CheckpointPlan plan_;
  kernels::Device& device_;
  grid::Grid& grid_;
  kernels::Arena arena_;
  kernels::View snapshot_;
  std::optional<kernels::PinnedMemory> copies_;  // of one save, where there is no snapshot and the host cannot read in place
  std::vector<const spec::LocalParameter*> rows_;
  std::string run_id_, warning_;
  Phase phase_ = Phase::idle;
  std::string partial_;                             // the folder being written
  std::int64_t step_ = 0;                           // of the save under way
  std::optional<train::LossScale::State> scaling_;  // as of that step
  std::int64_t saved_ = -1;
  double begin_ = 0, seconds_ = 0;
  std::future<store::FileRecord> writing_;
  std::future<std::string> publishing_;  // on rank 0
};

}  // namespace trireme::run
