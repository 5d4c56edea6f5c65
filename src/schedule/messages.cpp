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

std::vector<Channel> channels_of(const Schedule& schedule) {
  std::set<Channel> channels;
  for (int stage = 0; stage < schedule.stages; ++stage)
    for (const Action& action : schedule.actions[stage])
      for (const auto& channel : {channel_from_giver(schedule, stage, action), channel_to_taker(schedule, stage, action)})
        if (channel) channels.insert(*channel);
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

  const Timing timing = simulate(schedule);
  std::map<std::tuple<Payload, int, int>, double> made;  // by microbatch and the model chunk that makes it
  for (int stage = 0; stage < schedule.stages; ++stage)
    for (std::size_t k = 0; k < groups[stage].size(); ++k) {
      const auto& [act, microbatch, chunk] = schedule.actions[stage][k];
      if (const auto payload = facts(act).sends)
        made[{*payload, microbatch, model_chunk(schedule.stages, stage, chunk)}] = timing.spans[stage][k].end;
    }
  for (int stage = 0; stage < schedule.stages; ++stage)
    for (std::size_t k = 0; k < groups[stage].size(); ++k) {
      const Action& action = schedule.actions[stage][k];
      const auto channel = channel_from_giver(schedule, stage, action);
      if (!channel) continue;
      const double ready = made.at({channel->payload, action.microbatch, *giver(schedule, stage, action)});
      const auto& spans = timing.spans[stage];
      const auto first = std::partition_point(spans.begin(), spans.end(), [&](const Span& span) { return span.begin < ready; });
      groups[stage][k] = static_cast<int>(first - spans.begin());
    }
  return groups;
}

}  // namespace

Messages derive_messages(const Schedule& schedule) {
  Messages messages{channels_of(schedule), {}};
  const auto add = [&](std::vector<Transfer>& group, bool is_send, const std::optional<Channel>& channel, const Action& action) {
    if (!channel) return;
    const auto found = std::lower_bound(messages.channels.begin(), messages.channels.end(), *channel);
    group.push_back({is_send, static_cast<int>(found - messages.channels.begin()), action.microbatch, action.chunk});
  };
  const Groups receives = receive_groups(schedule);
  for (int stage = 0; stage < schedule.stages; ++stage) {
    const std::vector<Action>& actions = schedule.actions[stage];
    std::vector<std::vector<Transfer>> groups(actions.size() + 1);
    for (std::size_t k = 0; k < actions.size(); ++k) {
      add(groups[receives[stage][k]], false, channel_from_giver(schedule, stage, actions[k]), actions[k]);
      add(groups[k + 1], true, channel_to_taker(schedule, stage, actions[k]), actions[k]);
    }
    messages.before.push_back(std::move(groups));
  }
  return messages;
}

std::vector<int> buffers_needed(const Schedule& schedule, const Messages& messages, int stage) {
  std::vector<int> held(schedule.chunks, 0), most(schedule.chunks, 0);
  const auto take = [&](int chunk) { most[chunk] = std::max(most[chunk], ++held[chunk]); };
  const auto& actions = schedule.actions[stage];
  const bool frees = std::any_of(actions.begin(), actions.end(), [](const Action& a) { return facts(a.act).frees_activation; });
  for (std::size_t k = 0; k < actions.size(); ++k) {
    for (const Transfer& transfer : messages.before[stage][k])
      if (!transfer.is_send && messages.channels[transfer.channel].payload == Payload::activation) take(transfer.chunk);
    const ActFacts& act = facts(actions[k].act);
    if (act.takes_activation && !channel_from_giver(schedule, stage, actions[k])) take(actions[k].chunk);
    if (frees ? act.frees_activation : act.takes_activation) --held[actions[k].chunk];
  }
  return most;
}

}  // namespace trireme::schedule
