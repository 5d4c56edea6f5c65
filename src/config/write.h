// The configuration as text.
#pragma once

#include <string>

#include "config/reader.h"

namespace trireme::config {

/// Every key with its value and, as a comment, its origin. TOML; read_config on it gives an equal Config.
std::string write_config(const Resolved& resolved);

/// The table of keys for --help: name, default, unit, meaning, legal values, what this version can do.
std::string keys_text();

}  // namespace trireme::config
