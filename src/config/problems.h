// The mistakes found in an input: all are collected, each once, and thrown together.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/error.h"

namespace trireme::config {

/// A stretch of a line that the user wrote. Lines and columns count from 1, columns in characters.
struct Location {
  std::string origin;     // "input/x.toml:14" or "command line"
  int line = 0;           // 0: not in the file
  std::string text = "";  // the line; empty: nothing to show
  int column = 1, length = 1;
};

class Problems {
 public:
  void add(const std::string& origin, const std::string& message) { add(Location{.origin = origin}, message, ""); }
  /// Shows the line with a caret under the location, and the hint beside it.
  void add(const Location& location, const std::string& message, const std::string& hint);
  bool empty() const { return reports_.empty(); }
  /// Throws base::Error(bad_input) with all reports, lines of the file first and in order; returns when there are none.
  void throw_if_any() const;

 private:
  struct Report {
    int line;
    std::string text;
  };
  std::vector<Report> reports_;
  std::set<std::string> seen_;
};

}  // namespace trireme::config
