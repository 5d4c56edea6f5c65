// The table of all keys of an input file. Reading, checking, writing and --help go through it and name no key themselves, except
// where two keys depend on each other.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/config.h"

namespace trireme::config {

/// Where a key's value lies in a Config.
using Slot = std::variant<std::int64_t*, std::uint64_t*, double*, bool*, std::string*, std::vector<std::int64_t>*>;

/// Of a number, or of each number of a list.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool without_low = false, without_high = false;
};

struct Rules {
  std::string unit = "";
  Range range = {};
  std::vector<std::string> words = {};  // all legal values of a string; empty: any
  bool or_number = false;               // a string that may also be a whole number within `range`
  bool fp32 = false;                    // computed with as fp32: must not become 0, 1 or infinite there unless it is that
  double smallest = std::numeric_limits<float>::min();  // of such a number above 0; what is below has no effect
  bool path = false;                                    // of a file or folder
  std::string suffix = "";                              // what a string must end with, unless empty
  std::vector<std::string> without = {};                // what a string must not end with
  bool duration = false;                                // seconds, written in any form of base::parse_duration
  bool required = false;
  std::vector<std::string> built = {};  // as plain_text: the values whose feature exists in this version; empty: all
  std::string feature = "";             // what the other values would need
  bool fixed = false;                   // may not change when a run is resumed
  bool beginning = false;               // a start that goes on from a checkpoint does not read it
};

struct Key : Rules {
  std::string section, name;
  std::function<Slot(Config&)> slot;
  std::string meaning;

  std::string full_name() const { return section + "." + name; }
};

/// In the order of their sections, as they are written and listed.
const std::vector<Key>& all_keys();
/// Null when there is no such key.
const Key* find_key(std::string_view full_name);
/// In order, each once.
const std::vector<std::string>& all_sections();

/// A value as TOML, and as it may stand on the command line.
std::string toml_text(const Slot& slot);
std::string plain_text(const Slot& slot);

/// "at least 1", "0 to 1, without 1"; empty when all numbers are legal.
std::string range_text(const Range& range);

}  // namespace trireme::config
