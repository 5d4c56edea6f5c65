// When a schedule's actions run if stages are equal and messages cost nothing: its bubble and its memory.
#pragma once

#include <vector>

#include "schedule/schedule.h"

namespace trireme::schedule {

struct Span {
  double begin, end;  // seconds
};

struct Timing {
  std::vector<std::vector<Span>> spans;  // [p][actions]
  double seconds;                        // of the step: until the last stage has ended
};

/// Each stage runs its list in order, an action as soon as what it needs is there. `forward_seconds`, `backward_seconds`: of one
/// microbatch through one chunk; the optimizer step takes no time. Fails (base::Error) for a schedule that never ends.
Timing simulate(const Schedule& schedule, double forward_seconds, double backward_seconds);

/// Time of a step beyond that of its work, as a share of the work (section 2.2.1: t_pb / t_id).
double bubble(const Schedule& schedule, const Timing& timing, double forward_seconds, double backward_seconds);

/// The same by formula: (p - 1) / (v m) (section 2.2).
double bubble_formula(const Schedule& schedule);

/// Per stage: the most activations alive at once, each of one microbatch and one chunk, from forward to backward.
std::vector<int> peak_activations(const Schedule& schedule);

}  // namespace trireme::schedule
