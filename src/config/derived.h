// Words that users of other programs write as keys, and which are no keys here.
#pragma once

#include <string>
#include <string_view>

namespace trireme::config {

/// What the quantity that `name` (without its section) means follows from here, as a sentence; empty when it is none of these.
std::string derived_from(std::string_view name);

}  // namespace trireme::config
