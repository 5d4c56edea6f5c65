// Reads an input file and the overrides of the command line. Pure: every rank calls it on the same text and gets the same result.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/config.h"

namespace trireme::config {

struct Resolved {
  Config config;
  std::string path;                            // of the input file, as given
  std::map<std::string, std::string> origins;  // full key -> "default", "input/x.toml:14" or "command line"; every key
  std::vector<std::string> unbuilt;            // full keys whose values need what this version does not have (Unbuilt::allow)
};

enum class Missing { refuse, allow };
enum class Unbuilt { refuse, allow };

/// `text` is the content of `path` (TOML); `overrides` are "section.key=value", read by the key's type, the last one wins.
/// Precedence: default, file, command line. run.directory becomes runs/<name of the file> when not given.
/// Missing::allow lets keys without a default be absent, for commands that need only a few of them.
/// Unbuilt::allow takes legal values whose feature this version does not have and lists their keys, for commands that train
/// nothing. Throws base::Error(bad_input) with every mistake in the text, each with its place and what would do.
Resolved read_config(const std::string& path, const std::string& text, const std::vector<std::string>& overrides,
                     Missing missing = Missing::refuse, Unbuilt unbuilt = Unbuilt::refuse);

/// "data.tokens = \"data/x\" (input/x.toml:14)": a key with its value and where that was given, for messages.
std::string shown(const Resolved& resolved, const std::string& name);

/// The configuration with each unbuilt value replaced by the first that this version has.
Config without_unbuilt(const Resolved& resolved);

}  // namespace trireme::config
