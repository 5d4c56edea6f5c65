// What this program is and was built with.
#pragma once

#include <string>

namespace trireme::command {

/// "Trireme 0.1.0 (...)\n": compiler and libraries, as linked.
std::string version_text();

}  // namespace trireme::command
