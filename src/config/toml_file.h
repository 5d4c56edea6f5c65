// The text of a TOML file as a flat list of its keys, with their places. Hides the TOML library.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/value.h"

namespace trireme::config {

/// Line and columns, from 1, columns in characters. On more than one line: up to the end of the first.
struct Span {
  int line = 1, column = 1, length = 1;
};

struct Entry {
  std::string name;
  Value value;
  Span name_span, value_span;
};

struct Section {
  std::string name;  // empty: keys above the first section
  Span span;
  std::vector<Entry> entries;
};

struct SyntaxError {
  std::string message;
  Span span;
  std::string hint = "";  // what would do
};

struct TomlFile {
  std::vector<Section> sections;
  std::optional<SyntaxError> error;  // then there are no sections
};

TomlFile parse_toml(const std::string& text);

}  // namespace trireme::config
