#include "schedule/timing.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace trireme::schedule {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// End of each pass that has run, by kind, model chunk and microbatch.
class Ends {
 public:
  Ends(const Schedule& schedule, const Costs& costs)
      : schedule_(schedule),
        costs_(costs),
        ends_(all_acts().size() * schedule.stages * schedule.chunks * schedule.microbatches, never) {}

  double& of(Act act, int model, int microbatch) {
    const std::size_t passes = static_cast<std::size_t>(act) * schedule_.stages * schedule_.chunks + model;
    return ends_[passes * schedule_.microbatches + microbatch];
  }

  /// When what `action` of `stage` needs is there; `never` if it has not run yet.
  double ready(int stage, const Action& action) {
    double time = 0;
    if (const auto before = facts(action.act).after)
      time = of(*before, model_chunk(schedule_.stages, stage, action.chunk), action.microbatch);
    if (const auto from = giver(schedule_, stage, action)) {
      const auto channel = channel_from_giver(schedule_, stage, action);
      const double made = sent(*facts(action.act).needs, *from, action.microbatch);
      time = std::max(time, made + (channel ? costs_.latency(*channel) : 0));
    }
    return time;
  }

 private:
  /// When model chunk `model` has made its payload, whichever kind of pass makes it.
  double sent(Payload payload, int model, int microbatch) {
    double time = never;
    for (const ActFacts& act : all_acts())
      if (act.sends == payload) time = std::min(time, of(act.act, model, microbatch));
    return time;
  }

  const Schedule& schedule_;
  const Costs& costs_;
  std::vector<double> ends_;
};

}  // namespace

Costs stage_costs(const Schedule& schedule) {
  return {.seconds = [chunks = schedule.chunks](int, const Action& action) { return facts(action.act).units / chunks; }};
}

Timing simulate(const Schedule& schedule, const Costs& costs) {
  Ends ends(schedule, costs);
  Timing timing{std::vector<std::vector<Span>>(schedule.stages), 0};
  std::vector<double> free(schedule.stages, 0.0);  // when each stage has ended its last action
  const auto run_next = [&](int stage) {
    const auto& actions = schedule.actions[stage];
    auto& spans = timing.spans[stage];
    if (spans.size() == actions.size()) return false;
    const Action& action = actions[spans.size()];
    const double ready = ends.ready(stage, action);
    if (ready == never) return false;
    const double begin = std::max(free[stage], ready);
    free[stage] = begin + costs.seconds(stage, action);
    spans.push_back({begin, free[stage]});
    if (facts(action.act).is_pass)
      ends.of(action.act, model_chunk(schedule.stages, stage, action.chunk), action.microbatch) = free[stage];
    return true;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (int stage = 0; stage < schedule.stages; ++stage)
      while (run_next(stage)) moved = true;
  }
  for (int stage = 0; stage < schedule.stages; ++stage)
    if (timing.spans[stage].size() < schedule.actions[stage].size())
      base::fail("stage {} waits for ever before action {}", stage, timing.spans[stage].size());
  timing.seconds = *std::max_element(free.begin(), free.end());
  return timing;
}

double bubble(const Timing& timing) {
  double work = 0;
  for (const auto& spans : timing.spans)
    for (const Span& span : spans) work += span.end - span.begin;
  work /= static_cast<double>(timing.spans.size());
  return (timing.seconds - work) / work;
}

double bubble_formula(const Schedule& schedule) {
  return bubble_formula(schedule.kind, schedule.stages, schedule.chunks, schedule.microbatches);
}

std::vector<int> peak_activations(const Schedule& schedule) {
  std::vector<int> peaks;
  for (const auto& actions : schedule.actions) {
    int alive = 0, peak = 0;
    for (const Action& action : actions) {
      if (facts(action.act).takes_activation) ++alive;
      if (facts(action.act).frees_activation) --alive;
      peak = std::max(peak, alive);
    }
    peaks.push_back(peak);
  }
  return peaks;
}

}  // namespace trireme::schedule
