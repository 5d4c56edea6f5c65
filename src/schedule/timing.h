// When a schedule's actions run, given what each of them and each message takes: the bubble, and what memory holds.
#pragma once

#include <functional>
#include <vector>

#include "schedule/channel.h"
#include "schedule/schedule.h"

namespace trireme::schedule {

struct Span {
  double begin, end;  // seconds
};

struct Timing {
  std::vector<std::vector<Span>> spans;  // [p][actions]
  double seconds;                        // of the step: until the last stage has ended
};

/// What time the parts of a step take, in seconds. As it stands, stages are equal, messages take no time, and the unit is a
/// forward pass: facts(act).units.
struct Costs {
  std::function<double(int stage, const Action&)> seconds = [](int, const Action& action) { return facts(action.act).units; };
  std::function<double(const Channel&)> latency = [](const Channel&) { return 0.0; };  // from the sender's end to the receiver
};

/// The same in another unit, a forward pass through a whole stage, so that schedules can be held against each other: a pass
/// through one of v chunks takes 1/v.
Costs stage_costs(const Schedule& schedule);

/// Each stage runs its list in order, an action as soon as what it needs is there; a send does not keep its stage. Fails
/// (base::Error) for a schedule that never ends.
Timing simulate(const Schedule& schedule, const Costs& costs = {});

/// Time of a step beyond that of its work, as a share of the work (section 2.2.1: t_pb / t_id). The work is the time in a stage's
/// actions, in the mean over the stages.
double bubble(const Timing& timing);

/// The same by formula, for equal stages.
double bubble_formula(const Schedule& schedule);

/// Per stage: the most activations alive at once, each of one microbatch and one chunk, from forward to backward.
std::vector<int> peak_activations(const Schedule& schedule);

}  // namespace trireme::schedule
