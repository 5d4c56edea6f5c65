// The messages a schedule implies. Nobody writes a send or a receive by hand.
#pragma once

#include <vector>

#include "schedule/channel.h"
#include "schedule/schedule.h"

namespace trireme::schedule {

struct Transfer {
  bool is_send;
  int channel;            // index into Messages::channels
  int microbatch, chunk;  // of the action that made it (send) or needs it (receive), on this stage
};

/// Per stage and action index k: `before[k]` is one group of transfers posted together before action k runs: the sends of what
/// action k-1 made, and with one chunk a stage the receives that action k needs. With several chunks a receive may stand some
/// groups before its action, which (microbatch, chunk) names; it is kept until then. One more group at the end: the sends of the
/// last action.
struct Messages {
  std::vector<Channel> channels;                           // in the order in which communicators are made
  std::vector<std::vector<std::vector<Transfer>>> before;  // [p][actions + 1]
};

/// Model chunk c hands its output to c + 1 and the gradient of its input to c - 1. Neighbours on the same stage (p = 1) hand over
/// in memory: no message.
Messages derive_messages(const Schedule& schedule);

/// Per chunk of `stage`, the most microbatches that hold a buffer at once: from the group in which the input is received, or the
/// forward pass where none is, to the end of the backward pass, or of the forward pass where there is no backward pass.
/// Microbatches of a chunk take and leave their buffers in order, so microbatch i may use buffer i mod that number.
std::vector<int> buffers_needed(const Schedule& schedule, const Messages& messages, int stage);

}  // namespace trireme::schedule
