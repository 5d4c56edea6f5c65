// The one clock of a process.
#pragma once

#include <chrono>

namespace trireme::base {

/// Seconds on a clock that never goes back; its zero means nothing.
inline double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace trireme::base
