// What must be right before a run makes anything: files, folder, placement, threads, memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/reader.h"
#include "grid/topology.h"
#include "layout/layout.h"
#include "run/origin.h"
#include "run/sources.h"

namespace trireme::run {

struct Start {
  OpenedSources opened;
  Origin origin;
  bool resumes = false;              // the origin is a checkpoint of this run
  bool owes_evaluation = false;      // of the step it resumes at: it was due, and the run ended before it
  std::vector<std::string> damaged;  // newer checkpoints of this run that did not verify
  std::string resumed;     // on rank 0, when the run goes on from a checkpoint of its own: which, and what has changed since
  int threads = 1;         // of a rank
  std::string threads_by;  // what decided this
  layout::Layout layout;
  std::vector<grid::Place> places;  // of every rank, on rank 0
  bool shares_cores = false;        // more threads than cores on rank 0's node
  double available_bytes = 0;       // of a node's memory, for each of its ranks, the smallest
};

/// Whether this start has nothing to do but to say so.
bool is_done(const Start& start, const config::Run& run);
/// That no step is left to do: what was done all the same, what is on disk, what was asked for, and how to begin anew.
/// `evaluated`: the evaluation that was owed was made.
std::string done_text(const Start& start, const config::Run& run, bool evaluated);

/// Every rank, with equal arguments that config::check_layout passed. Throws grid::Agreed(bad_input) for whatever would stop the
/// run later: token files, start weights or checkpoints, the run's folder and final weights' place, more threads than cores, a
/// split tensor group when placement.strict, more memory than there is; Agreed(mismatch) where there are checkpoints of this run
/// and none verifies. Makes nothing.
Start check_start(grid::World& world, const config::Resolved& resolved, bool weights_only);

}  // namespace trireme::run
