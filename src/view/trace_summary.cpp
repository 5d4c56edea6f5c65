#include "view/trace_summary.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "base/units.h"
#include "schedule/schedule.h"
#include "view/trace_kinds.h"

namespace trireme::view {
namespace {

using store::RankTrace;
using store::Trace;
using store::TraceEvent;

/// Seconds of one rank.
struct RankTimes {
  std::array<double, grid::activity_kinds> kinds{};  // each without what lies in it
  double passes = 0;                                 // with what lies in them: waits for tensor ranks
  double pass_flops = 0;
  double covered = 0;  // by any event
};

RankTimes times_of(const RankTrace& rank) {
  RankTimes times;
  const std::vector<int> outer = store::enclosing(rank.events);
  const auto kind = [&](std::size_t k) -> double& { return times.kinds[static_cast<std::size_t>(rank.events[k].kind)]; };
  for (std::size_t k = 0; k < rank.events.size(); ++k) {
    const TraceEvent& event = rank.events[k];
    const double seconds = event.end - event.begin;
    kind(k) += seconds;
    if (outer[k] >= 0) kind(static_cast<std::size_t>(outer[k])) -= seconds;
    if (outer[k] < 0) times.covered += seconds;
    if (!is_pass(event.kind)) continue;
    times.passes += seconds;
    times.pass_flops += event.flops;
  }
  return times;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// One number a rank, as a row of the table, in milliseconds.
std::string row(const std::string& name, const std::vector<double>& seconds) {
  const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
  return fmt::format("  {:<30}{:>10.3f}{:>10.3f}{:>10.3f}{:>13}\n", name, *least * 1e3, mean(seconds) * 1e3, *most * 1e3,
                     most - seconds.begin());
}

/// Waits, a family a word, as shares of the whole.
std::string exposed_line(const std::vector<RankTimes>& ranks, double length) {
  struct Family {
    Partners partners;
    std::string_view name;
  };
  constexpr std::array families = {Family{Partners::tensor_ranks, "tensor ranks"}, Family{Partners::stages, "other stages"},
                                   Family{Partners::data_ranks, "data ranks"}, Family{Partners::tied_embedding, "tied embedding"},
                                   Family{Partners::agreement, "agreement"}};
  std::string parts;
  double all = 0;
  for (const auto& [partners, name] : families) {
    double seconds = 0;
    for (const RankTimes& times : ranks)
      for (int kind = 0; kind < grid::activity_kinds; ++kind)
        if (grid::is_wait(kind) && partners_of(kind) == partners) seconds += times.kinds[static_cast<std::size_t>(kind)];
    const double share = length > 0 ? 100 * seconds / (length * static_cast<double>(ranks.size())) : 0;
    all += share;
    if (share > 0) parts += fmt::format("{}{} {:.1f} %", parts.empty() ? "" : ", ", name, share);
  }
  return fmt::format("communication exposed: {:.1f} % of the ranks' time is spent waiting for it{}{}\n", all,
                     parts.empty() ? "" : ": ", parts);
}

/// `own`: seconds of forward and backward without waits: a rank that waits for a slow one is not slow.
std::string slowest_line(const Trace& trace, const std::vector<double>& own) {
  const auto most = std::max_element(own.begin(), own.end());
  const RankTrace& rank = trace.ranks[static_cast<std::size_t>(most - own.begin())];
  return fmt::format("slowest rank in forward + backward, without waits: {} on {} ({:.3f} ms; mean {:.3f} ms)\n",
                     most - own.begin(), rank.host, *most * 1e3, mean(own) * 1e3);
}

std::string clock_line(const Trace& trace) {
  double error = 0;
  std::int64_t missed = 0;
  for (const RankTrace& rank : trace.ranks) {
    error = std::max(error, rank.clock_error);
    missed += rank.missed;
  }
  return fmt::format("clocks agree to within {:.1f} us\n", error * 1e6) +
         (missed > 0 ? fmt::format("warning: {} {} missing: there was no room for more\n", base::counted(missed, "event"),
                                   missed == 1 ? "is" : "are")
                     : "");
}

schedule::Kind kind_of(const store::TraceHeader& header) {
  return schedule::kind_named(header.schedule).value_or(schedule::Kind::one_f_one_b);
}

}  // namespace

double length_of(const Trace& trace) {
  double end = 0;
  for (const RankTrace& rank : trace.ranks)
    for (const TraceEvent& event : rank.events) end = std::max(end, event.end);
  return end;
}

double measured_bubble(const Trace& trace) {
  double begin = 1e300, end = -1e300, work = 0;
  for (const RankTrace& rank : trace.ranks)
    for (const TraceEvent& event : rank.events)
      if (is_pass(event.kind)) {
        begin = std::min(begin, event.begin);
        end = std::max(end, event.end);
        work += event.end - event.begin;
      }
  return work > 0 ? (end - begin) / (work / static_cast<double>(trace.ranks.size())) - 1 : 0;
}

double bubble_by_formula(const store::TraceHeader& header) {
  return schedule::bubble_formula(kind_of(header), header.shape.pipeline, static_cast<int>(header.chunks),
                                  static_cast<int>(header.microbatches));
}

std::string layout_line(const Trace& trace) {
  return fmt::format("step {}: p = {}, t = {}, d = {}, v = {}, m = {}, {}; bubble {:.4f} measured, {:.4f} by formula", trace.step,
                     trace.shape.pipeline, trace.shape.tensor, trace.shape.data, trace.chunks, trace.microbatches, trace.schedule,
                     measured_bubble(trace), bubble_by_formula(trace));
}

std::string trace_summary(const Trace& trace) {
  std::vector<RankTimes> ranks;
  std::set<std::string> hosts;
  for (const RankTrace& rank : trace.ranks) {
    ranks.push_back(times_of(rank));
    hosts.insert(rank.host);
  }
  const auto column = [&](auto value) {
    std::vector<double> values;
    for (const RankTimes& times : ranks) values.push_back(value(times));
    return values;
  };
  const double length = length_of(trace);
  const std::vector<double> passes = column([](const RankTimes& times) { return times.passes; });
  std::string text =
      fmt::format("{}\n{} on {}; {:.3f} ms to the last event's end, evaluation and output included\n\n", layout_line(trace),
                  base::counted(std::ssize(ranks), "rank"), base::counted(std::ssize(hosts), "host"), length * 1e3);
  text += fmt::format("{:<32}{:>10}{:>10}{:>10}{:>13}\n", "milliseconds of the step", "min", "mean", "max", "rank of max");
  for (int kind = 0; kind < grid::activity_kinds; ++kind) {
    const auto values = column([&](const RankTimes& times) { return times.kinds[static_cast<std::size_t>(kind)]; });
    if (*std::max_element(values.begin(), values.end()) > 0)
      text += row(fmt::format("{}{}", grid::is_wait(kind) ? "wait: " : "", grid::name_of_kind(kind)), values);
  }
  text += row("idle", column([&](const RankTimes& times) { return length - times.covered; })) + "\n";
  text += fmt::format(
      "bubble: {:.4f} of forward + backward, measured (from the first pass to the last of any rank, beyond the mean work; waits "
      "for tensor ranks count as work); {:.4f} of it by the formula {}\n",
      measured_bubble(trace), bubble_by_formula(trace), schedule::bubble_words(kind_of(trace)));
  text += exposed_line(ranks, length);
  const double flops = mean(column([](const RankTimes& times) { return times.pass_flops; }));
  if (flops > 0 && mean(passes) > 1e-12)
    text += fmt::format(
        "rate inside the passes: {}FLOP/s a rank (matrix products, attention dense; waits for tensor ranks counted as time of "
        "the passes)\n",
        base::rate_text(flops / mean(passes)));
  const std::vector<double> own = column([](const RankTimes& times) {
    double seconds = 0;
    for (int kind = 0; kind < grid::activity_kinds; ++kind)
      if (is_pass(kind)) seconds += times.kinds[static_cast<std::size_t>(kind)];
    return seconds;
  });
  return text + slowest_line(trace, own) + clock_line(trace);
}

}  // namespace trireme::view
