#include "view/trace_pictures.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "config/steps.h"
#include "view/trace_kinds.h"
#include "view/trace_summary.h"

namespace trireme::view {
namespace {

using store::RankTrace;
using store::Trace;
using store::TraceEvent;

/// Whether its box shows the number of a microbatch: passes, those of an evaluation too.
bool is_numbered(int kind) { return is_pass(kind) || kind == kind_of(grid::Work::evaluation); }

std::string title_of(const TraceEvent& event) {
  const auto& [microbatch, chunk, peer] = event.subject;
  std::string text = fmt::format("{}{}", grid::is_wait(event.kind) ? "wait for " : "", grid::name_of_kind(event.kind));
  if (microbatch >= 0) text += fmt::format(" of microbatch {}", microbatch);
  if (chunk >= 0) text += fmt::format(", chunk {}", chunk);
  if (peer >= 0) text += fmt::format(" with rank {}", peer);
  if (event.bytes > 0) text += fmt::format(", {} bytes", event.bytes);
  return text;
}

char mark(const TraceEvent& event) {
  if (!is_pass(event.kind)) return '*';
  const std::string_view marks = facts(*act_of(event.kind)).marks;
  return marks[static_cast<std::size_t>(event.subject.microbatch) % marks.size()];
}

double milliseconds(std::string_view& text, const std::string& whole) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0)
    base::refuse("--time={}: expected A-B, from A to B milliseconds after the step's start, e.g. 12.5-20", whole);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// "A-B"
Window parse_window(const std::string& whole) {
  std::string_view text = whole;
  const double begin = milliseconds(text, whole);
  if (!text.starts_with('-')) text = "";  // refused by the next line
  text.remove_prefix(std::min<std::size_t>(text.size(), 1));
  const double end = milliseconds(text, whole);
  if (!text.empty() || begin >= end)
    base::refuse("--time={}: expected A-B with A below B, in milliseconds after the step's start, e.g. 12.5-20", whole);
  return {begin, end};
}

/// One line, from `start` on; `start`, `column`: seconds.
std::string line_of(const RankTrace& rank, int columns, double start, double column) {
  std::string line(static_cast<std::size_t>(columns), '.');
  std::vector<double> most(line.size()), busy(line.size());
  const std::vector<int> outer = store::enclosing(rank.events);
  for (std::size_t k = 0; k < rank.events.size(); ++k) {
    const TraceEvent& event = rank.events[k];
    if (outer[k] >= 0 || grid::is_wait(event.kind)) continue;
    const auto first = static_cast<std::size_t>(std::clamp((event.begin - start) / column, 0.0, static_cast<double>(columns)));
    for (std::size_t c = first; c < line.size() && start + static_cast<double>(c) * column < event.end; ++c) {
      const double begin = start + static_cast<double>(c) * column;
      const double share = std::min(event.end, begin + column) - std::max(event.begin, begin);
      busy[c] += share;
      if (share <= most[c]) continue;
      most[c] = share;
      line[c] = mark(event);
    }
  }
  for (std::size_t c = 0; c < line.size(); ++c)
    if (column - busy[c] > most[c]) line[c] = '.';
  return line;
}

}  // namespace

std::string rank_label(const Trace& trace, std::size_t rank) {
  const grid::Coordinates& at = trace.ranks[rank].at;
  return fmt::format("rank {} pp{} tp{} dp{}", rank, at.pipeline, at.tensor, at.data);
}

Part part_of(const Trace& trace, const std::string& ranks, const std::string& time) {
  Part part;
  const auto count = static_cast<std::int64_t>(trace.ranks.size());
  const auto wanted = config::parse_ranges(ranks, "rank", 0);
  for (const config::StepRange& range : wanted)
    if (range.last >= count)
      base::refuse("--ranks={}: there is no rank {}: this trace has {} rank{}, counted from 0", ranks, range.last, count,
                   count == 1 ? "" : "s");
  for (std::int64_t rank = 0; rank < count; ++rank)
    if (wanted.empty() || contains(wanted, rank)) part.ranks.push_back(static_cast<std::size_t>(rank));
  if (time.empty()) return part;
  part.time = parse_window(time);
  if (const double end = 1e3 * length_of(trace); part.time.begin >= end)
    base::refuse("--time={}: this step ends after {:.6g} ms", time, end);
  return part;
}

Timeline timeline_of(const Trace& trace, const Part& part) {
  Timeline timeline{layout_line(trace), "ms", {}, part.time};
  for (const std::size_t r : part.ranks) {
    Lane lane{rank_label(trace, r), {}};
    const std::vector<TraceEvent>& events = trace.ranks[r].events;
    const std::vector<int> outer = store::enclosing(events);
    for (std::size_t k = 0; k < events.size(); ++k) {
      const TraceEvent& event = events[k];
      lane.boxes.push_back({event.begin * 1e3, event.end * 1e3, tint_of(event.kind),
                            event.subject.chunk > 0 && is_numbered(event.kind), outer[k] >= 0,
                            is_numbered(event.kind) ? event.subject.microbatch : -1, title_of(event)});
    }
    timeline.lanes.push_back(std::move(lane));
  }
  return timeline;
}

std::string ascii_picture(const Trace& trace, int columns, const Part& part) {
  std::size_t widest = 0;
  for (const std::size_t r : part.ranks) widest = std::max(widest, rank_label(trace, r).size());
  const double start = part.time.begin * 1e-3, length = std::min(part.time.end * 1e-3, length_of(trace)) - start;
  const double column = length > 0 ? length / columns : 1;
  std::string text = layout_line(trace) + "\n";
  text += fmt::format("digits forward, letters backward, stars other work, dots idle or waiting; a column is {:.3g} ms{}\n",
                      column * 1e3, start > 0 ? fmt::format(", the first begins at {:.6g} ms", part.time.begin) : "");
  for (const std::size_t r : part.ranks)
    text += fmt::format("{:<{}} |{}|\n", rank_label(trace, r), widest, line_of(trace.ranks[r], columns, start, column));
  return text;
}

}  // namespace trireme::view
