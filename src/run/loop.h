// The steps of a run, and what is written on the way: records, traces, checkpoints.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "config/reader.h"
#include "grid/world.h"
#include "run/checkpoint_writer.h"
#include "run/folder.h"
#include "run/records.h"
#include "run/start.h"
#include "run/tracer.h"
#include "run/turns.h"
#include "train/trainer.h"

namespace trireme::train {

/// What was measured before the model's memory was taken.
struct Machine {
  double begin = 0;       // of the run, on the clock of base::now()
  double peak_flops = 0;  // a rank: matrix products, the mean over the ranks
};

/// How a run ended, and what its file `status` says.
struct Ended {
  base::Exit status;
  std::string why;
};

/// The run from its first step, or the one it was resumed at, to its last. Every rank; `folder` on rank 0 only.
class Loop {
 public:
  Loop(grid::World& world, const config::Resolved& resolved, const Start& start, Trainer& trainer, RunFolder* folder,
       const Machine& machine, const Signals& signals);

  Ended run();

 private:
  StepRecord step(std::int64_t k);
  void evaluate(StepRecord& record);
  void log(StepRecord& record);
  void stop(base::Exit status, const std::string& why);
  void stop_if_not_finite(const StepRecord& record);
  void stop_if_weights_not_finite(std::int64_t step);
  void stop_if_copies_differ(std::int64_t step);
  bool logged(const StepRecord& record) const;

  Turn next_turn();
  bool saves_at(std::int64_t step) const;
  void save(std::int64_t step);
  void save_and_wait(std::int64_t step);
  void try_to_save(const std::function<void()>& work);
  void announce_save();
  Ended end(Turn turn, const StepRecord& last);
  void summarize(const StepRecord& last);
  /// Rank 0: a result that cannot be written does not cost the run; it is said once, and a run that is done has status failure.
  void keep_going(const std::function<void()>& write);
  void end_trace();
  void print(const std::string& text) {
    if (folder_) folder_->print(text);
  }

  grid::World& world_;
  const config::Config& config_;
  const Start& start_;
  Trainer& trainer_;
  RunFolder* folder_;
  Machine machine_;
  CheckpointWriter writer_;
  Turns turns_;
  Tracer tracer_;
  std::optional<MetricsFile> metrics_;
  std::optional<base::Error> lost_;
  std::int64_t private_first_step_ = 0, private_last_step_ = 0;
  std::int64_t steps_here_ = 0;  // since this start
  double pace_ = 0;              // seconds a step, without evaluation; the first step left out once there are others
};

}  // namespace trireme::train
