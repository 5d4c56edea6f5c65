#include "view/trace_pictures.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

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

/// One line; `column`: seconds.
std::string line_of(const RankTrace& rank, int columns, double column) {
  std::string line(static_cast<std::size_t>(columns), '.');
  std::vector<double> most(line.size()), busy(line.size());
  const std::vector<int> outer = store::enclosing(rank.events);
  for (std::size_t k = 0; k < rank.events.size(); ++k) {
    const TraceEvent& event = rank.events[k];
    if (outer[k] >= 0 || grid::is_wait(event.kind)) continue;
    const auto first = static_cast<std::size_t>(std::max(event.begin / column, 0.0));
    for (std::size_t c = first; c < line.size() && static_cast<double>(c) * column < event.end; ++c) {
      const double begin = static_cast<double>(c) * column;
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

Timeline timeline_of(const Trace& trace) {
  Timeline timeline{layout_line(trace), "ms", {}};
  for (std::size_t r = 0; r < trace.ranks.size(); ++r) {
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

std::string ascii_picture(const Trace& trace, int columns) {
  double length = 0;
  std::size_t widest = 0;
  for (std::size_t r = 0; r < trace.ranks.size(); ++r) {
    for (const TraceEvent& event : trace.ranks[r].events) length = std::max(length, event.end);
    widest = std::max(widest, rank_label(trace, r).size());
  }
  const double column = length / columns;
  std::string text = layout_line(trace) + "\n";
  text += fmt::format("digits forward, letters backward, stars other work, dots idle or waiting; a column is {:.3g} ms\n",
                      column * 1e3);
  for (std::size_t r = 0; r < trace.ranks.size(); ++r)
    text += fmt::format("{:<{}} |{}|\n", rank_label(trace, r), widest, line_of(trace.ranks[r], columns, column));
  return text;
}

}  // namespace trireme::view
