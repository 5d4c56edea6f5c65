// Parameters that several ranks hold must be the same bits on all of them, for ever: a difference is a fault of the program, of a
// library or of the machine, which training would hide.
#pragma once

#include <string>

#include "train/replica.h"

namespace trireme::run {

/// Every rank. Compares, by base::hash64 of the bits, all copies of each row of the table: over the data ranks; of parameters
/// that tensor parallelism does not split over the tensor ranks too; of the token embedding and its copy on the last stage.
/// Returns nothing when they agree; else, on all ranks the same, the parameter and the ranks on each side, fewest first. Brings
/// each row to the host once.
std::string differing_copies(train::Replica& replica);

}  // namespace trireme::run
