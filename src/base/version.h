// The version of this program.
#pragma once

namespace trireme::base {

inline constexpr const char* version = "0.1.0";

}  // namespace trireme::base
