// Whether all ranks see what one of them made: they may have started in different folders, or on nodes that do not share one.
#pragma once

#include <string>

#include "grid/world.h"

namespace trireme::run {

/// Every rank: refuses (bad_input, with rank, host and where it looked) when a rank does not see the file `name` of `folder`, the
/// run's or one in it, as rank 0 sees it, every byte.
void refuse_unless_seen_by_all(grid::World& world, const std::string& folder, const std::string& name);

}  // namespace trireme::run
