// The steps that a key names: "10-12,50".
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace trireme::config {

struct StepRange {
  std::int64_t first, last;  // counted from 1, both of it
  bool operator==(const StepRange&) const = default;
};

/// "a-b" and "a" in any mix, separated by commas, in any order; empty: none. Throws base::Error (bad_input) that says what is
/// wrong with which part.
std::vector<StepRange> parse_steps(std::string_view text);

/// The same of other numbers, counted from `least`; `what` is one of them in words ("rank").
std::vector<StepRange> parse_ranges(std::string_view text, std::string_view what, std::int64_t least);

bool contains(const std::vector<StepRange>& ranges, std::int64_t step);

}  // namespace trireme::config
