#include "view/schedule_text.h"

#include <cmath>

#include <fmt/ranges.h>

#include "base/text.h"
#include "view/axis.h"

namespace trireme::view {

using schedule::Action;
using schedule::facts;
using schedule::Schedule;
using schedule::Span;
using schedule::Timing;

namespace {

constexpr double widest_picture = 400;  // columns

/// The character of a pass in the picture.
char mark(const Action& action) {
  const std::string_view marks = facts(action.act).marks;
  return marks[static_cast<std::size_t>(action.microbatch) % marks.size()];
}

double busy_share(const std::vector<Span>& spans, double seconds) {
  double busy = 0;
  for (const Span& span : spans) busy += span.end - span.begin;
  return busy / seconds;
}

/// Messages of a step: each is one send.
std::int64_t count_sends(const schedule::Messages& messages) {
  std::int64_t sends = 0;
  for (const auto& groups : messages.before)
    for (const auto& group : groups)
      for (const auto& transfer : group) sends += transfer.is_send;
  return sends;
}

/// The unit's number below the column where it begins.
std::string ruler(const TimedSchedule& timed) {
  std::string line;
  for (const double tick : round_ticks(0, timed.timing.seconds, static_cast<int>(timed.timing.seconds * timed.columns / 6), 1)) {
    line.resize(static_cast<std::size_t>(tick) * static_cast<std::size_t>(timed.columns), ' ');
    line += fmt::format("{}", tick);
  }
  return line;
}

}  // namespace

std::string picture(const TimedSchedule& timed) {
  const auto& [schedule, timing, columns] = timed;
  const auto column = [&, scale = columns](double time) { return static_cast<std::size_t>(std::lround(time * scale)); };
  const std::size_t digits = fmt::formatted_size("{}", schedule.stages - 1);
  std::string text;
  for (int stage = 0; stage < schedule.stages; ++stage) {
    std::string line(column(timing.seconds), '.');
    for (std::size_t k = 0; k < schedule.actions[stage].size(); ++k) {
      const auto [begin, end] = timing.spans[stage][k];
      for (std::size_t c = column(begin); c < column(end); ++c) line[c] = mark(schedule.actions[stage][k]);
    }
    text += fmt::format("stage {:<{}} |{}| busy {:.1f}%\n", stage, digits, line,
                        100 * busy_share(timing.spans[stage], timing.seconds));
  }
  return text + fmt::format("{:{}}{}\n", "", digits + 8, ruler(timed));
}

std::string listing(const Schedule& schedule) {
  std::string text;
  for (int stage = 0; stage < schedule.stages; ++stage) {
    text += fmt::format("stage {}:", stage);
    for (const Action& action : schedule.actions[stage]) {
      text += fmt::format(" {}", facts(action.act).symbol);
      if (!facts(action.act).is_pass) continue;
      text += fmt::format("{}", action.microbatch);
      if (schedule.chunks > 1) text += fmt::format(".{}", action.chunk);
    }
    text += '\n';
  }
  return text;
}

std::string schedule_report(const TimedSchedule& timed, const schedule::Messages& messages, bool list) {
  const auto& [schedule, timing, columns] = timed;
  std::string text = fmt::format("{}: p = {}, v = {}, m = {}\n", name_of(schedule.kind), base::counted(schedule.stages, "stage"),
                                 schedule.chunks, base::counted(schedule.microbatches, "microbatch", "es"));
  text += fmt::format("digits are forward passes, letters backward passes, {} times as long; the line below counts {}\n",
                      facts(schedule::Act::backward).units / facts(schedule::Act::forward).units, unit_of_time);
  text += timing.seconds * columns <= widest_picture
              ? picture(timed)
              : fmt::format("(a picture of {:.0f} columns, too wide: --svg FILE draws it)\n", timing.seconds * columns);
  if (list) text += listing(schedule);
  text += fmt::format("time              {:.6g} {}\n", timing.seconds, unit_of_time);
  text += fmt::format("bubble            {:.4f} of the work simulated, {:.4f} by the formula {}\n", bubble(timing),
                      bubble_formula(schedule), bubble_words(schedule.kind));
  text += fmt::format("peak activations  {} by stage, each of one microbatch and chunk\n",
                      fmt::join(peak_activations(schedule), " "));
  text += fmt::format("messages          {} a step on {}\n", count_sends(messages),
                      base::counted(std::ssize(messages.channels), "channel"));
  return text + "proven            every pass once, messages in order, no deadlock\n";
}

}  // namespace trireme::view
