#include "schedule/messages.h"

#include <algorithm>
#include <optional>
#include <set>

namespace trireme::schedule {
namespace {

/// One end of what an action needs or makes.
struct End {
  bool is_send;
  Channel channel;
};

/// The message between an action's stage and the owner of the model chunk `step` places away (+1 towards the loss).
std::optional<End> end_towards(const Schedule& schedule, int stage, const Action& action, int step, bool is_send) {
  if (action.act == Act::optimizer_step) return std::nullopt;
  const int other = model_chunk(schedule.stages, stage, action.chunk) + step;
  if (other < 0 || other >= schedule.stages * schedule.chunks) return std::nullopt;
  const int peer = other % schedule.stages;
  if (peer == stage) return std::nullopt;
  const Payload payload = action.act == Act::forward ? Payload::activation : Payload::gradient;
  return End{is_send, is_send ? Channel{stage, peer, payload} : Channel{peer, stage, payload}};
}

int flow(const Action& action) { return action.act == Act::forward ? 1 : -1; }

std::optional<End> need(const Schedule& schedule, int stage, const Action& action) {
  return end_towards(schedule, stage, action, -flow(action), false);
}

std::optional<End> product(const Schedule& schedule, int stage, const Action& action) {
  return end_towards(schedule, stage, action, flow(action), true);
}

std::vector<Channel> channels_of(const Schedule& schedule) {
  std::set<Channel> channels;
  for (int stage = 0; stage < schedule.stages; ++stage)
    for (const Action& action : schedule.actions[stage])
      for (const auto& end : {need(schedule, stage, action), product(schedule, stage, action)})
        if (end) channels.insert(end->channel);
  return {channels.begin(), channels.end()};
}

}  // namespace

Messages derive_messages(const Schedule& schedule) {
  Messages messages{channels_of(schedule), {}};
  const auto add = [&](std::vector<Transfer>& group, const std::optional<End>& end, const Action& action) {
    if (!end) return;
    const auto place = std::lower_bound(messages.channels.begin(), messages.channels.end(), end->channel);
    group.push_back({end->is_send, static_cast<int>(place - messages.channels.begin()), action.microbatch, action.chunk});
  };
  for (int stage = 0; stage < schedule.stages; ++stage) {
    const std::vector<Action>& actions = schedule.actions[stage];
    std::vector<std::vector<Transfer>> groups(actions.size() + 1);
    for (std::size_t k = 0; k < actions.size(); ++k) {
      add(groups[k], need(schedule, stage, actions[k]), actions[k]);
      add(groups[k + 1], product(schedule, stage, actions[k]), actions[k]);
    }
    messages.before.push_back(std::move(groups));
  }
  return messages;
}

}  // namespace trireme::schedule
