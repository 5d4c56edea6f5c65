// One value of one key: read from text, checked, stored.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/keys.h"

namespace trireme::config {

/// Something that no key takes, in words: "a date".
struct OtherType {
  std::string what;
};

/// As written, before its key says what it should be.
using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>, OtherType>;

/// What is wrong with a value, and what would do (empty when there is nothing to say).
struct Complaint {
  std::string message, hint;
};

/// A command-line value, read by the key's type. Throws Complaint.
Value parse_value(const Key& key, std::string_view text);

/// Checks type, range and words, and stores. Throws Complaint, then nothing is stored.
void assign(const Key& key, const Value& value, Config& config);

/// Throws Complaint when the value in `config` needs a feature that this version does not have.
void check_built(const Key& key, Config& config);

/// The values that a string or a number of this key may have, in words.
std::string legal_values(const Key& key);

/// Those whose feature this version has, in words; empty when it has all.
std::string built_values(const Key& key);

}  // namespace trireme::config
