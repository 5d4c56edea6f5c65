// What must hold of a schedule and its messages before anything runs them. The checks know neither how a schedule is made nor
// how its messages are derived: they start from the model's chunks.
#pragma once

#include <string>
#include <vector>

#include "schedule/messages.h"

namespace trireme::schedule {

/// One line each; empty: proven. Checked: every (microbatch, chunk) goes forward and backward once, forward first, backward
/// passes in the order of microbatches, one optimizer step at the end; every boundary between stages is crossed by one message,
/// sent after what makes it and received before what needs it; sends and receives of a channel agree in order; no deadlock.
std::vector<std::string> violations(const Schedule& schedule, const Messages& messages);

/// Whether all groups complete under rendezvous, with one communication stream a stage: a stage's groups go one after the other,
/// and a group ends when the partner of each of its transfers is in a group that has begun. Empty, or who waits for whom.
/// Reads only channels and groups, of which a stage may have any number.
std::string deadlock(const Messages& messages);

}  // namespace trireme::schedule
