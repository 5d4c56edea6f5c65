#include "schedule/timing.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/error.h"

namespace trireme::schedule {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// End of each pass that has run, by direction, model chunk and microbatch.
class Ends {
 public:
  explicit Ends(const Schedule& schedule)
      : schedule_(schedule),
        last_(schedule.stages * schedule.chunks - 1),
        ends_(2ul * (last_ + 1) * schedule.microbatches, never) {}

  double& of(Act act, int model, int microbatch) {
    return ends_[(2ul * model + (act == Act::forward ? 0 : 1)) * schedule_.microbatches + microbatch];
  }

  /// When what `action` of `stage` needs is there; `never` if it has not run yet.
  double ready(int stage, const Action& action) {
    if (action.act == Act::optimizer_step) return 0;
    const int model = model_chunk(schedule_.stages, stage, action.chunk), i = action.microbatch;
    if (action.act == Act::forward) return model == 0 ? 0 : of(Act::forward, model - 1, i);
    return model == last_ ? of(Act::forward, model, i) : std::max(of(Act::forward, model, i), of(Act::backward, model + 1, i));
  }

 private:
  const Schedule& schedule_;
  int last_;  // model chunk
  std::vector<double> ends_;
};

double work_seconds(const Schedule& schedule, double forward_seconds, double backward_seconds) {
  return schedule.microbatches * schedule.chunks * (forward_seconds + backward_seconds);
}

}  // namespace

Timing simulate(const Schedule& schedule, double forward_seconds, double backward_seconds) {
  Ends ends(schedule);
  Timing timing{std::vector<std::vector<Span>>(schedule.stages), 0};
  std::vector<double> free(schedule.stages, 0.0);  // when each stage has ended its last action
  const auto run_next = [&](int stage) {
    const auto& actions = schedule.actions[stage];
    auto& spans = timing.spans[stage];
    if (spans.size() == actions.size()) return false;
    const Action& action = actions[spans.size()];
    const double ready = ends.ready(stage, action);
    if (ready == never) return false;
    const double seconds = action.act == Act::forward ? forward_seconds : action.act == Act::backward ? backward_seconds : 0;
    const double begin = std::max(free[stage], ready);
    spans.push_back({begin, begin + seconds});
    free[stage] = begin + seconds;
    if (action.act != Act::optimizer_step)
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

double bubble(const Schedule& schedule, const Timing& timing, double forward_seconds, double backward_seconds) {
  const double work = work_seconds(schedule, forward_seconds, backward_seconds);
  return (timing.seconds - work) / work;
}

double bubble_formula(const Schedule& schedule) {
  return static_cast<double>(schedule.stages - 1) / (static_cast<double>(schedule.chunks) * schedule.microbatches);
}

std::vector<int> peak_activations(const Schedule& schedule) {
  std::vector<int> peaks;
  for (const auto& actions : schedule.actions) {
    int alive = 0, peak = 0;
    for (const Action& action : actions) {
      alive += action.act == Act::forward ? 1 : action.act == Act::backward ? -1 : 0;
      peak = std::max(peak, alive);
    }
    peaks.push_back(peak);
  }
  return peaks;
}

}  // namespace trireme::schedule
