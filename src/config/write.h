// The configuration as text.
#pragma once

#include <string>

#include "config/reader.h"

namespace trireme::config {

/// Every key with its value and, as a comment, its origin. TOML; read_config on it gives an equal Config.
std::string write_config(const Resolved& resolved);

}  // namespace trireme::config
