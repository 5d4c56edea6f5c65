// A whole run: checks that need files, the start block, the steps, the records, the end.
#pragma once

#include <string>

#include "config/reader.h"
#include "grid/world.h"

namespace trireme::train {

/// Every rank, with equal arguments that config::check_layout passed. Mistakes that only files show (tokens, start weights, a
/// folder that cannot be written) are agreed before the run's folder is made. `banner`: version and command, printed first.
/// Throws grid::Agreed: bad_input as above, not_finite when a loss or a gradient norm is not finite.
void run_training(grid::World& world, const config::Resolved& resolved, const std::string& banner);

}  // namespace trireme::train
