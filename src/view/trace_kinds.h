// What a trace's kinds of events are to those who show them.
#pragma once

#include <optional>

#include "schedule/action.h"
#include "view/timeline.h"

namespace trireme::view {

/// The action of a schedule that an event of `kind` (grid::kind_of) is; nothing for waits and other work.
std::optional<schedule::Act> act_of(int kind);

/// Whether an event of `kind` is a pass of a schedule.
bool is_pass(int kind);

/// With whom a rank waits.
enum class Partners { tensor_ranks, stages, data_ranks, tied_embedding, agreement };

/// Of a wait: grid::is_wait(kind).
Partners partners_of(int kind);

Tint tint_of(int kind);

}  // namespace trireme::view
