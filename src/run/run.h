// A whole run: the checks, the start block, the steps, the end.
#pragma once

#include <string>

#include "base/error.h"
#include "config/reader.h"
#include "grid/world.h"
#include "run/requests.h"

namespace trireme::run {

/// Every rank, with equal arguments that config::check_layout passed. What would stop the run is agreed before its folder is made
/// (run/start.h). `banner`: version and command, printed first. A run that has checkpoints goes on from the newest that
/// verifies; `weights_only`: from its parameters and step, with optimizer moments of zero. Returns done (all steps are done, or
/// RUN/STOP asked for an end) or saved (a signal or the job's time: a checkpoint waits for another turn). Throws grid::Agreed:
/// bad_input as said, not_finite when a loss or a gradient norm is not finite, mismatch when copies of a parameter differ or no
/// checkpoint verifies, failure when a result or the last checkpoint could not be written.
base::Exit run_training(grid::World& world, const config::Resolved& resolved, const std::string& banner, const Signals& signals,
                        bool weights_only);

}  // namespace trireme::run
