// Numbers of one traced step.
#pragma once

#include <string>

#include "store/trace_file.h"

namespace trireme::view {

/// Section 2.2.1's t_pb / t_id: the time from the first forward or backward pass to the last one of any rank, beyond the mean
/// over the ranks of the time inside these passes, as a share of that mean. What tensor ranks wait for inside a pass is the
/// pass's time; gradients' sums and the update come after the last pass. 0 without passes.
double measured_bubble(const store::Trace& trace);

/// Seconds from the step's start to the last event's end.
double length_of(const store::Trace& trace);

/// That of the schedule's formula; (p - 1) / (v m) for a schedule that this version does not know.
double bubble_by_formula(const store::TraceHeader& header);

/// "p = 2, t = 2, d = 1, v = 1, m = 4, 1f1b; bubble ... measured, ... by formula"
std::string layout_line(const store::Trace& trace);

/// Milliseconds by kind, min, mean and max over the ranks; bubble, waits, slowest rank, clocks.
std::string trace_summary(const store::Trace& trace);

}  // namespace trireme::view
