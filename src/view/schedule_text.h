// A schedule for people: as a picture of characters, as lists (timeline.h draws it).
#pragma once

#include <string>

#include "schedule/timing.h"

namespace trireme::schedule {

/// A line a stage, a column a unit of time, a forward pass one unit and a backward pass two: digits are forward passes
/// (microbatch mod 10), letters backward passes (a = microbatch 0, mod 26), dots idle. `simulate(schedule, 1, 2)` gives the
/// timing.
std::string picture(const Schedule& schedule, const Timing& timing);

/// A line a stage: "stage 0: F0 F1 B0 ... step"; with several chunks "F0.1" is microbatch 0 through chunk 1.
std::string listing(const Schedule& schedule);

}  // namespace trireme::schedule
