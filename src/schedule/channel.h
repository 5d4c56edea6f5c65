// Who hands what to whom: the neighbours of an action in the chain of model chunks, and the channels between their stages.
#pragma once

#include <compare>
#include <optional>

#include "schedule/schedule.h"

namespace trireme::schedule {

/// First in, first out; one a (sender, receiver, payload).
struct Channel {
  int sender, receiver;  // stages
  Payload payload;
  auto operator<=>(const Channel&) const = default;
};

/// The model chunk whose output `action` of `stage` needs; nothing where it needs none, or where the model begins or ends.
std::optional<int> giver(const Schedule& schedule, int stage, const Action& action);

/// The channel by which that output comes; nothing if it stays in the stage's memory.
std::optional<Channel> channel_from_giver(const Schedule& schedule, int stage, const Action& action);

/// The channel by which the output of `action` leaves; nothing if nobody needs it or it stays in the stage's memory.
std::optional<Channel> channel_to_taker(const Schedule& schedule, int stage, const Action& action);

}  // namespace trireme::schedule
