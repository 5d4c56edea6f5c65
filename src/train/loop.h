// A whole run: the checks, the start block, the steps, the records, the end.
#pragma once

#include <string>

#include "config/reader.h"
#include "grid/world.h"
#include "train/turns.h"

namespace trireme::train {

/// Every rank, with equal arguments that config::check_layout passed. What would stop the run is agreed before its folder is made
/// (train/start.h). `banner`: version and command, printed first. Throws grid::Agreed: bad_input as said, not_finite when a loss
/// or a gradient norm is not finite, mismatch when copies of a parameter differ, failure when a result could not be written,
/// saved when a signal or the time ended the run.
void run_training(grid::World& world, const config::Resolved& resolved, const std::string& banner, const Signals& signals);

}  // namespace trireme::train
