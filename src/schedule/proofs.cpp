#include "schedule/proofs.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>

#include <fmt/format.h>

namespace trireme::schedule {
namespace {

using Report = std::vector<std::string>;

/// Where a stage's list has a pass: index of the action, -1 for nowhere.
class PassIndex {
 public:
  PassIndex(const Schedule& schedule, Report& report)
      : schedule_(schedule), indices_(all_acts().size() * schedule.microbatches * schedule.stages * schedule.chunks, none) {
    for (int stage = 0; stage < schedule.stages; ++stage)
      for (int k = 0; k < std::ssize(schedule.actions[stage]); ++k) note(stage, k, report);
  }

  /// Of the pass of `microbatch` through chunk `model` of the whole model, in the list of the stage that owns it.
  int of(Act act, int microbatch, int model) const { return indices_[slot(act, microbatch, model)]; }

 private:
  static constexpr int none = -1;

  std::size_t slot(Act act, int microbatch, int model) const {
    return (all_acts().size() * model + static_cast<std::size_t>(act)) * schedule_.microbatches + microbatch;
  }

  void note(int stage, int k, Report& report) {
    const Action& action = schedule_.actions[stage][k];
    if (!facts(action.act).is_pass) return;
    const auto complain = [&](const char* what) {
      report.push_back(fmt::format("stage {}, action {}: {} of microbatch {}, chunk {} {}", stage, k, facts(action.act).word,
                                   action.microbatch, action.chunk, what));
    };
    if (action.microbatch < 0 || action.microbatch >= schedule_.microbatches || action.chunk < 0 ||
        action.chunk >= schedule_.chunks)
      return complain("does not exist");
    int& index = indices_[slot(action.act, action.microbatch, model_chunk(schedule_.stages, stage, action.chunk))];
    if (index != none) return complain("runs twice");
    index = k;
  }

  const Schedule& schedule_;
  std::vector<int> indices_;
};

void check_passes(const Schedule& schedule, const PassIndex& passes, Report& report) {
  for (int model = 0; model < schedule.stages * schedule.chunks; ++model)
    for (int i = 0, last = -1; i < schedule.microbatches; ++i) {
      const int forward = passes.of(Act::forward, i, model), backward = passes.of(Act::backward, i, model);
      const auto complain = [&](const char* what) {
        report.push_back(fmt::format("stage {}: microbatch {}, model chunk {}: {}", model % schedule.stages, i, model, what));
      };
      if (forward < 0) complain("no forward pass");
      if (backward < 0) complain("no backward pass");
      if (backward >= 0 && backward < forward) complain("backward before forward");
      if (backward >= 0 && backward < last) complain("backward before that of an earlier microbatch");
      last = std::max(last, backward);
    }
}

void check_steps(const Schedule& schedule, Report& report) {
  for (int stage = 0; stage < schedule.stages; ++stage) {
    const auto& actions = schedule.actions[stage];
    const auto steps = std::count_if(actions.begin(), actions.end(), [](auto& action) { return !facts(action.act).is_pass; });
    if (steps != 1 || facts(actions.back().act).is_pass)
      report.push_back(fmt::format("stage {}: one optimizer step is needed, as the last action", stage));
  }
}

/// A message by what it carries: the output of a pass of one microbatch through one chunk of the model.
struct Message {
  Payload payload;
  int microbatch, maker;  // maker: model chunk
  auto operator<=>(const Message&) const = default;
};

struct Posted {
  int stage, group;
};

Message message_of(const Schedule& schedule, const Messages& messages, int stage, const Transfer& transfer) {
  const Payload payload = messages.channels[transfer.channel].payload;
  const int towards_maker = transfer.is_send ? 0 : -facts(payload).flow;
  return {payload, transfer.microbatch, model_chunk(schedule.stages, stage, transfer.chunk) + towards_maker};
}

/// All transfers, by message and by channel, each in the order in which its stage posts it.
struct Traffic {
  std::map<Message, std::vector<Posted>> sends, receives;
  std::vector<std::vector<Message>> sent, received;  // [channels]
};

Traffic traffic_of(const Schedule& schedule, const Messages& messages, Report& report) {
  Traffic traffic;
  traffic.sent.resize(messages.channels.size());
  traffic.received.resize(messages.channels.size());
  for (int stage = 0; stage < schedule.stages; ++stage)
    for (int group = 0; group < std::ssize(messages.before[stage]); ++group)
      for (const Transfer& transfer : messages.before[stage][group]) {
        const Channel& channel = messages.channels[transfer.channel];
        if (stage != (transfer.is_send ? channel.sender : channel.receiver))
          report.push_back(
              fmt::format("stage {}, group {}: uses the channel {} -> {}", stage, group, channel.sender, channel.receiver));
        const Message message = message_of(schedule, messages, stage, transfer);
        (transfer.is_send ? traffic.sends : traffic.receives)[message].push_back({stage, group});
        (transfer.is_send ? traffic.sent : traffic.received)[transfer.channel].push_back(message);
      }
  return traffic;
}

/// One crossing of a boundary between two stages: the pass `act` of message.maker makes it, that of `user` needs it.
struct Crossing {
  Message message;
  Act act;
  int user;  // model chunk
};

void check_crossing(const Schedule& schedule, const PassIndex& passes, Traffic& traffic, const Crossing& crossing,
                    Report& report) {
  const Message& message = crossing.message;
  const int from = message.maker % schedule.stages, to = crossing.user % schedule.stages;
  const auto complain = [&](const char* what) {
    report.push_back(fmt::format("{} of microbatch {}, model chunk {} -> {} (stage {} -> {}): {}", facts(message.payload).word,
                                 message.microbatch, message.maker, crossing.user, from, to, what));
  };
  const auto sends = traffic.sends.extract(message), receives = traffic.receives.extract(message);
  if (sends.empty() || sends.mapped().size() != 1 || sends.mapped()[0].stage != from)
    complain("must be sent once");
  else if (sends.mapped()[0].group <= passes.of(crossing.act, message.microbatch, message.maker))
    complain("is sent before it is made");
  if (receives.empty() || receives.mapped().size() != 1 || receives.mapped()[0].stage != to)
    complain("must be received once");
  else if (receives.mapped()[0].group > passes.of(crossing.act, message.microbatch, crossing.user))
    complain("is received after it is needed");
}

void check_messages(const Schedule& schedule, const Messages& messages, const PassIndex& passes, Report& report) {
  Traffic traffic = traffic_of(schedule, messages, report);
  for (std::size_t channel = 0; channel < messages.channels.size(); ++channel)
    if (traffic.sent[channel] != traffic.received[channel]) {
      const auto& [sender, receiver, payload] = messages.channels[channel];
      report.push_back(fmt::format("channel {} -> {} ({}): sends and receives differ in number or order", sender, receiver,
                                   facts(payload).word));
    }
  for (int model = 0; schedule.stages > 1 && model + 1 < schedule.stages * schedule.chunks; ++model)
    for (int i = 0; i < schedule.microbatches; ++i) {
      check_crossing(schedule, passes, traffic, {{Payload::activation, i, model}, Act::forward, model + 1}, report);
      check_crossing(schedule, passes, traffic, {{Payload::gradient, i, model + 1}, Act::backward, model}, report);
    }
  for (const auto* left : {&traffic.sends, &traffic.receives})
    for (const auto& [message, posted] : *left)
      report.push_back(fmt::format("stage {}, group {}: {} of microbatch {} that nobody needs", posted[0].stage, posted[0].group,
                                   facts(message.payload).word, message.microbatch));
}

constexpr int nowhere = 1 << 30;

/// For each stage and group, the stages and groups that its transfers pair with: the n-th send of a channel and its n-th receive.
std::vector<std::vector<std::vector<Posted>>> partners_of(const Messages& messages) {
  using Ends = std::vector<Posted>;
  std::vector<std::array<Ends, 2>> ends(messages.channels.size());  // [channels][receive or send]
  for (int stage = 0; stage < std::ssize(messages.before); ++stage)
    for (int group = 0; group < std::ssize(messages.before[stage]); ++group)
      for (const Transfer& transfer : messages.before[stage][group])
        ends[transfer.channel][transfer.is_send].push_back({stage, group});
  std::vector<std::vector<Ends>> partners;
  std::vector<std::array<std::size_t, 2>> next(messages.channels.size());
  for (const auto& groups : messages.before) {
    partners.emplace_back(groups.size());
    for (std::size_t group = 0; group < groups.size(); ++group)
      for (const Transfer& transfer : groups[group]) {
        const Ends& others = ends[transfer.channel][!transfer.is_send];
        const std::size_t number = next[transfer.channel][transfer.is_send]++;
        const Channel& channel = messages.channels[transfer.channel];
        partners.back()[group].push_back(
            number < others.size() ? others[number] : Posted{transfer.is_send ? channel.receiver : channel.sender, nowhere});
      }
  }
  return partners;
}

}  // namespace

std::string deadlock(const Messages& messages) {
  const auto partners = partners_of(messages);
  const auto stages = std::ssize(partners);
  std::vector<int> current(partners.size(), 0);  // the group each stage is in
  const auto waits_for = [&](std::int64_t stage) {
    const auto& group = partners[stage][current[stage]];
    const auto late =
        std::find_if(group.begin(), group.end(), [&](const Posted& other) { return current[other.stage] < other.group; });
    return late == group.end() ? -1 : late->stage;
  };
  const auto done = [&](std::int64_t stage) { return current[stage] == std::ssize(partners[stage]); };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::int64_t stage = 0; stage < stages; ++stage)
      for (; !done(stage) && waits_for(stage) < 0; moved = true) ++current[stage];
  }
  std::string waits;
  for (std::int64_t stage = 0; stage < stages; ++stage)
    if (!done(stage))
      waits += fmt::format("{}stage {} in group {} waits for stage {}", waits.empty() ? "deadlock: " : ", ", stage,
                           current[stage], waits_for(stage));
  return waits;
}

std::vector<std::string> violations(const Schedule& schedule, const Messages& messages) {
  Report report;
  const PassIndex passes(schedule, report);
  check_passes(schedule, passes, report);
  check_steps(schedule, report);
  for (int stage = 0; stage < schedule.stages; ++stage)
    if (messages.before.at(stage).size() != schedule.actions[stage].size() + 1)
      report.push_back(fmt::format("stage {}: a group before each action and one at the end are needed", stage));
  check_messages(schedule, messages, passes, report);
  if (const std::string waits = deadlock(messages); !waits.empty()) report.push_back(waits);
  return report;
}

}  // namespace trireme::schedule
