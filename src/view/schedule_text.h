// A schedule for people: as a picture of characters, as lists (timeline.h draws it), as the report of `trireme schedule`.
#pragma once

#include <string>

#include "schedule/messages.h"
#include "schedule/timing.h"

namespace trireme::view {

/// What schedule::stage_costs counts, in words.
constexpr const char* unit_of_time = "forward passes of a whole stage";

/// A schedule timed by schedule::stage_costs, and how many columns of a picture its unit takes, the forward pass of a whole
/// stage: a multiple of v, so that a pass through a chunk takes whole columns.
struct TimedSchedule {
  const schedule::Schedule& schedule;
  const schedule::Timing& timing;
  int columns;
};

/// A line a stage: each pass's mark (schedule/action.h: digits are forward passes, small letters backward passes), dots idle; and
/// below them a line of the time.
std::string picture(const TimedSchedule& timed);

/// A line a stage: "stage 0: F0 F1 B0 ... step"; with several chunks "F0.1" is microbatch 0 through chunk 1.
std::string listing(const schedule::Schedule& schedule);

/// Picture, time, bubble, activations and messages of a schedule that the proofs have passed; the listing too where it is asked
/// for.
std::string schedule_report(const TimedSchedule& timed, const schedule::Messages& messages, bool list);

}  // namespace trireme::view
