// A schedule for people: as a picture of characters, as lists (timeline.h draws it), as the report of `trireme schedule`.
#pragma once

#include <string>

#include "schedule/messages.h"
#include "schedule/timing.h"

namespace trireme::view {

/// A line a stage, a column a unit of time: the pass's mark (schedule/action.h: digits are forward passes, small letters backward
/// passes), dots idle. For a timing in whole units, as `simulate(schedule)` gives it.
std::string picture(const schedule::Schedule& schedule, const schedule::Timing& timing);

/// A line a stage: "stage 0: F0 F1 B0 ... step"; with several chunks "F0.1" is microbatch 0 through chunk 1.
std::string listing(const schedule::Schedule& schedule);

/// Picture, bubble, activations and messages of a schedule that the proofs have passed; the listing too where it is asked for.
/// `timing` as for `picture`.
std::string schedule_report(const schedule::Schedule& schedule, const schedule::Messages& messages,
                            const schedule::Timing& timing, bool list);

}  // namespace trireme::view
