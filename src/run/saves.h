// The saves of a run: when one is due, what is said of it, and what becomes of one that fails.
#pragma once

#include <cstdint>
#include <functional>

#include "config/reader.h"
#include "run/checkpoint_writer.h"
#include "run/recorder.h"
#include "run/requests.h"
#include "run/start.h"
#include "train/trainer.h"

namespace trireme::run {

/// Every rank calls every member but `busy` and `due`, in the same order. A save in mid-run that fails
/// is reported and the run goes on: the next one tries again, and the last one decides how the run ends.
class Saves {
 public:
  /// `requests` learns how long saves take, `recorder` prints; `folder` on rank 0 only.
  Saves(const config::Resolved& resolved, const Start& start, train::Trainer& trainer, Requests& requests,
        const Recorder& recorder, folder::RunFolder* folder);

  /// Whether `step` of the run asks for a save by checkpoint.every; the end saves by itself.
  bool due(std::int64_t step) const;
  /// Starts to save the state after `step` steps, while training goes on.
  void begin(std::int64_t step);
  /// 1 while this rank's part of a save is under way, else 0; then the largest of all ranks', once a step.
  std::int64_t busy() const { return writer_.busy(); }
  void advance(std::int64_t busy_ranks);
  /// Waits for a save under way.
  void finish();
  /// Steps in the newest checkpoint; -1: there is none.
  std::int64_t newest() const { return writer_.saved_step(); }
  /// Rank 0: saves that begin from now on go to `folder`.
  void move_to(const std::string& folder) { writer_.move_to(folder); }
  /// The state after `step` steps is on disk when this returns; throws grid::Agreed when it cannot be.
  void last(std::int64_t step);

  const kernels::Arena& arena() const { return writer_.arena(); }

 private:
  void attempt(const std::function<void()>& work);
  void announce();

  const config::Config& config_;
  grid::World& world_;
  Requests& requests_;
  const Recorder& recorder_;
  CheckpointWriter writer_;
  std::string warned_;  // the last warning printed
};

}  // namespace trireme::run
