// What this program is and was built with.
#pragma once

#include <string>

namespace trireme::command {

inline constexpr const char* version = "0.1.0";

/// "Trireme 0.1.0 (...)\n": compiler and libraries, as linked.
std::string version_text();

}  // namespace trireme::command
