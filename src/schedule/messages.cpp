#include "schedule/messages.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "schedule/timing.h"

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

using Groups = std::vector<std::vector<int>>;  // [p][actions]

/// The group in which each action's input is received: late, just before the action, with one chunk a stage.
///
/// With several, late would deadlock: all stages send into a ring and none receives. There a receive stands in the first group
/// whose action begins, in the ideal timing, no earlier than the message is made. No deadlock then, by induction on the times c
/// at which the actions after groups begin. Take a group posted at e and ended by c >= e. The partner of a send is posted after
/// an action that began before e; the partner of a receive after an action that ended, so began, before c. Groups before those
/// end by the induction, so that the partner is posted.
Groups receive_groups(const Schedule& schedule) {
  Groups groups(schedule.actions.size());
  for (std::size_t stage = 0; stage < groups.size(); ++stage) {
    groups[stage].resize(schedule.actions[stage].size());
    std::iota(groups[stage].begin(), groups[stage].end(), 0);
  }
  if (schedule.chunks == 1) return groups;

  const Timing timing = simulate(schedule, 1, 2);
  std::map<std::tuple<Act, int, int>, double> made;  // by direction, microbatch, model chunk
  for (int stage = 0; stage < schedule.stages; ++stage)
    for (std::size_t k = 0; k < groups[stage].size(); ++k) {
      const auto& [act, microbatch, chunk] = schedule.actions[stage][k];
      made[{act, microbatch, model_chunk(schedule.stages, stage, chunk)}] = timing.spans[stage][k].end;
    }
  for (int stage = 0; stage < schedule.stages; ++stage)
    for (std::size_t k = 0; k < groups[stage].size(); ++k) {
      const Action& action = schedule.actions[stage][k];
      if (!need(schedule, stage, action)) continue;
      const int maker = model_chunk(schedule.stages, stage, action.chunk) - flow(action);
      const double ready = made.at({action.act, action.microbatch, maker});
      const auto& spans = timing.spans[stage];
      const auto first = std::partition_point(spans.begin(), spans.end(), [&](const Span& span) { return span.begin < ready; });
      groups[stage][k] = static_cast<int>(first - spans.begin());
    }
  return groups;
}

}  // namespace

Messages derive_messages(const Schedule& schedule) {
  Messages messages{channels_of(schedule), {}};
  const auto add = [&](std::vector<Transfer>& group, const std::optional<End>& end, const Action& action) {
    if (!end) return;
    const auto place = std::lower_bound(messages.channels.begin(), messages.channels.end(), end->channel);
    group.push_back({end->is_send, static_cast<int>(place - messages.channels.begin()), action.microbatch, action.chunk});
  };
  const Groups receives = receive_groups(schedule);
  for (int stage = 0; stage < schedule.stages; ++stage) {
    const std::vector<Action>& actions = schedule.actions[stage];
    std::vector<std::vector<Transfer>> groups(actions.size() + 1);
    for (std::size_t k = 0; k < actions.size(); ++k) {
      add(groups[receives[stage][k]], need(schedule, stage, actions[k]), actions[k]);
      add(groups[k + 1], product(schedule, stage, actions[k]), actions[k]);
    }
    messages.before.push_back(std::move(groups));
  }
  return messages;
}

std::vector<int> buffers_needed(const Schedule& schedule, const Messages& messages, int stage) {
  std::vector<int> held(schedule.chunks, 0), most(schedule.chunks, 0);
  const auto take = [&](int chunk) { most[chunk] = std::max(most[chunk], ++held[chunk]); };
  const auto& actions = schedule.actions[stage];
  const bool trains = std::any_of(actions.begin(), actions.end(), [](const Action& a) { return a.act == Act::backward; });
  for (std::size_t k = 0; k < actions.size(); ++k) {
    for (const Transfer& transfer : messages.before[stage][k])
      if (!transfer.is_send && messages.channels[transfer.channel].payload == Payload::activation) take(transfer.chunk);
    const Action& action = actions[k];
    if (action.act == Act::forward && !need(schedule, stage, action)) take(action.chunk);
    if (action.act == (trains ? Act::backward : Act::forward)) --held[action.chunk];
  }
  return most;
}

}  // namespace trireme::schedule
