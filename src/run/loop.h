// The steps of a run, and what comes between them: evaluation, traces, saves, checks, and the requests that end it.
#pragma once

#include <optional>
#include <string>

#include "config/reader.h"
#include "grid/world.h"
#include "run/recorder.h"
#include "run/requests.h"
#include "run/saves.h"
#include "run/start.h"
#include "run/tracer.h"
#include "train/trainer.h"

namespace trireme::run {

/// How a run ended, and what its file `status` says.
struct Ended {
  base::Exit status;
  std::string why;
};

/// The run from its first step, or the one it was resumed at, to its last. Every rank; `folder` on rank 0 only.
class Loop {
 public:
  Loop(const config::Resolved& resolved, const Start& start, train::Trainer& trainer, const Machine& machine,
       const Signals& signals, folder::RunFolder* folder);

  Ended run();

 private:
  void begin();
  StepRecord step(std::int64_t k);
  void read_ahead(std::int64_t step);
  Request next_request();
  void make_up_evaluation(StepRecord& record);
  void save(std::int64_t step);
  void end_trace();
  [[noreturn]] void stop(base::Exit status, const std::string& why);
  void stop_for_tokens(std::int64_t step);
  void stop_if_not_finite(const StepRecord& record);
  void stop_if_scale_exhausted(const StepRecord& record);
  void stop_if_weights_not_finite(std::int64_t step);
  void stop_if_not_to_be_saved(std::int64_t step);
  void stop_if_tokens_changed(std::int64_t step);
  void stop_if_copies_differ(std::int64_t step);
  void finish(StepRecord& last);
  void stop_if_moved(std::int64_t step);
  void stop_if_taken();
  std::string reached(const StepRecord& last) const;
  Ended end(Request request, StepRecord& last);

  grid::World& world_;
  const config::Resolved& resolved_;
  const config::Config& config_;
  const Start& start_;
  train::Trainer& trainer_;
  folder::RunFolder* folder_;
  bool owes_evaluation_;                                           // of the step that was done last
  folder::Whereabouts folder_is_ = folder::Whereabouts::in_place;  // as last agreed
  Requests requests_;
  Recorder recorder_;
  Saves saves_;
  Tracer tracer_;
  DataWatch watch_;
  std::optional<base::Error> fault_;  // of this rank, in the tokens of the next step
  bool any_fault_ = false;            // of all ranks, as last agreed
  std::int64_t peak_memory_ = 0;      // resident bytes, the largest of the ranks, as last agreed
};

}  // namespace trireme::run
