#include "schedule/channel.h"

namespace trireme::schedule {
namespace {

/// The model chunk `step` further than that of `action`, if there is one.
std::optional<int> neighbour(const Schedule& schedule, int stage, const Action& action, int step) {
  const int other = model_chunk(schedule.stages, stage, action.chunk) + step;
  return other < 0 || other >= schedule.stages * schedule.chunks ? std::nullopt : std::optional(other);
}

}  // namespace

std::optional<int> giver(const Schedule& schedule, int stage, const Action& action) {
  const ActFacts& act = facts(action.act);
  return act.needs ? neighbour(schedule, stage, action, -act.flow) : std::nullopt;
}

std::optional<Channel> channel_from_giver(const Schedule& schedule, int stage, const Action& action) {
  const auto from = giver(schedule, stage, action);
  if (!from || *from % schedule.stages == stage) return std::nullopt;
  return Channel{*from % schedule.stages, stage, *facts(action.act).needs};
}

std::optional<Channel> channel_to_taker(const Schedule& schedule, int stage, const Action& action) {
  const ActFacts& act = facts(action.act);
  const auto to = act.sends ? neighbour(schedule, stage, action, act.flow) : std::nullopt;
  if (!to || *to % schedule.stages == stage) return std::nullopt;
  return Channel{stage, *to % schedule.stages, *act.sends};
}

}  // namespace trireme::schedule
