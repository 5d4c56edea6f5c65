// What of a TOML text must not reach the TOML library.
#pragma once

#include <optional>
#include <string_view>

#include "config/toml_file.h"

namespace trireme::config {

/// The first byte outside of quotes and comments that is not ASCII (the library's behaviour is undefined where it stands in a
/// name), and brackets or dotted names so deep that the library's recursion would end the stack. All else is the library's.
std::optional<SyntaxError> scan_toml(std::string_view text);

}  // namespace trireme::config
