#include "view/schedule_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace trireme::schedule {
namespace {

/// The character of a pass in the picture.
char mark(const Action& action) {
  return static_cast<char>(action.act == Act::forward ? '0' + action.microbatch % 10 : 'a' + action.microbatch % 26);
}

double busy_share(const std::vector<Span>& spans, double seconds) {
  double busy = 0;
  for (const Span& span : spans) busy += span.end - span.begin;
  return busy / seconds;
}

}  // namespace

std::string picture(const Schedule& schedule, const Timing& timing) {
  const auto columns = static_cast<std::size_t>(std::lround(timing.seconds));
  std::string text;
  for (int stage = 0; stage < schedule.stages; ++stage) {
    std::string line(columns, '.');
    for (std::size_t k = 0; k < schedule.actions[stage].size(); ++k) {
      const auto [begin, end] = timing.spans[stage][k];
      for (auto column = std::lround(begin); column < std::lround(end); ++column) line[column] = mark(schedule.actions[stage][k]);
    }
    text += fmt::format("stage {:<{}}|{}| busy {:.1f}%\n", stage, fmt::formatted_size("{}", schedule.stages - 1) + 1, line,
                        100 * busy_share(timing.spans[stage], timing.seconds));
  }
  return text;
}

std::string listing(const Schedule& schedule) {
  std::string text;
  for (int stage = 0; stage < schedule.stages; ++stage) {
    text += fmt::format("stage {}:", stage);
    for (const Action& action : schedule.actions[stage]) {
      if (action.act == Act::optimizer_step) {
        text += " step";
        continue;
      }
      text += fmt::format(" {}{}", action.act == Act::forward ? 'F' : 'B', action.microbatch);
      if (schedule.chunks > 1) text += fmt::format(".{}", action.chunk);
    }
    text += '\n';
  }
  return text;
}

}  // namespace trireme::schedule
