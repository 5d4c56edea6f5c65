#include "config/steps.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace trireme::config {
namespace {

std::int64_t number_of(std::string_view text, std::string_view part, std::string_view what) {
  if (text.empty() || text.size() > 15 || text.find_first_not_of("0123456789") != std::string_view::npos)
    base::refuse("'{0}' is no {1} and no range of {1}s: expected \"a-b\" or \"a,b,c\"", part, what);
  return std::stoll(std::string(text));
}

}  // namespace

std::vector<StepRange> parse_steps(std::string_view text) { return parse_ranges(text, "step", 1); }

std::vector<StepRange> parse_ranges(std::string_view text, std::string_view what, std::int64_t least) {
  std::vector<StepRange> ranges;
  for (const std::string& part : base::split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto number = [&](std::string_view piece) { return number_of(base::trimmed(piece), part, what); };
    const std::string_view whole = part;
    const std::int64_t first = number(whole.substr(0, dash));
    const std::int64_t last = dash == std::string::npos ? first : number(whole.substr(dash + 1));
    if (first < least) base::refuse("'{}': {}s are counted from {}", part, what, least);
    if (last < first) base::refuse("'{}' runs backwards: write {}-{}", part, last, first);
    ranges.push_back({first, last});
  }
  return ranges;
}

bool contains(const std::vector<StepRange>& ranges, std::int64_t step) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const StepRange& r) { return r.first <= step && step <= r.last; });
}

}  // namespace trireme::config
