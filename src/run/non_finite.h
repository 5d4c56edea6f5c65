// Where numbers stop being finite: the first rank, layer, tensor, microbatch and sample.
#pragma once

#include <string>

#include "train/trainer.h"

namespace trireme::run {

/// Every rank, right after step `step` gave a result that is not finite; all return the same. Runs the step's passes once more
/// and looks at every tensor: names the first that holds an infinite value or none, by microbatch, forward before backward, then
/// in the order of the model, which is the same in every layout; and the first such weight.
std::string first_non_finite(train::Trainer& trainer, std::int64_t step);

/// Every rank; all return the same: the first parameter of the table of which weights are not finite, with how many and where;
/// nothing when all are finite.
std::string non_finite_weight(train::Replica& replica);

/// Every rank. Refuses (grid::Agreed, bad_input) weights of which some are not finite, naming the first parameter and `source`,
/// the file they came from, and `cure`.
void refuse_non_finite_weights(train::Replica& replica, const std::string& source, const std::string& cure = "");

}  // namespace trireme::run
