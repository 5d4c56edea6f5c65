#include "grid/silence.h"

#include <algorithm>

#include <fmt/format.h>

namespace trireme::grid {
namespace {

using Fault = Verdict::Fault;

constexpr std::size_t most_named = 4;  // of those that wait for a rank
constexpr double patience_at_start = 3;

const Seen* find(const std::vector<Seen>& all, int rank) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Seen& seen) { return seen.rank == rank; });
  return found == all.end() ? nullptr : &*found;
}

bool waits(const Seen& seen) { return seen.known && is_wait(seen.kind); }

/// Whether a wait of this kind on rank a involves rank b.
bool share_group(int kind, const Shape& shape, int a, int b) {
  const Coordinates x = coordinates_of(shape, a), y = coordinates_of(shape, b);
  switch (static_cast<Traffic>(kind - static_cast<int>(work_names.size()))) {
    case Traffic::tp_all_reduce:
    case Traffic::tp_reduce_scatter:
    case Traffic::tp_all_gather:
      return x.data == y.data && x.pipeline == y.pipeline;
    case Traffic::dp_all_reduce:
    case Traffic::dp_reduce_scatter:
    case Traffic::dp_all_gather:
      return x.tensor == y.tensor && x.pipeline == y.pipeline;
    case Traffic::tied_embedding:
      return x.tensor == y.tensor && x.data == y.data && (y.pipeline == 0 || y.pipeline == shape.pipeline - 1);
    default:
      return true;
  }
}

/// Whether `waiter` waits for something that needs `other`, there or not.
bool needs(const Seen& waiter, const Seen& other, const Shape& shape) {
  if (waiter.rank == other.rank || waiter.left || !waits(waiter)) return false;
  if (waiter.subject.peer >= 0) return waiter.subject.peer == other.rank;
  return share_group(waiter.kind, shape, waiter.rank, other.rank);
}

/// Whether `waiter` waits, and what it waits for cannot happen before `other`, which runs, comes to it.
bool waits_for(const Seen& waiter, const Seen& other, const Shape& shape) {
  const bool collective = waiter.subject.peer < 0;
  const bool takes_part = collective && waits(other) && other.kind == waiter.kind && other.subject.peer < 0;
  return needs(waiter, other, shape) && !takes_part;
}

/// From each rank to the first that it waits for, until one comes again or waits for nobody that is missing.
Verdict follow_waits(const std::vector<Seen>& all, const Shape& shape) {
  const auto longest = std::max_element(all.begin(), all.end(), [](const Seen& a, const Seen& b) {
    return (a.left ? -1 : a.unchanged) < (b.left ? -1 : b.unchanged);
  });
  std::vector<int> path = {longest->rank};
  while (true) {
    const Seen& last = *find(all, path.back());
    const auto next =
        std::find_if(all.begin(), all.end(), [&](const Seen& other) { return waits_for(last, other, shape) && !other.left; });
    if (next == all.end()) return {Fault::lost, {last.rank}};
    const auto before = std::find(path.begin(), path.end(), next->rank);
    if (before != path.end()) return {Fault::circle, {before, path.end()}};
    path.push_back(next->rank);
  }
}

std::string name_of(int rank, const std::vector<Identity>& names, const Shape& shape) {
  const Identity& name = names[static_cast<std::size_t>(rank)];
  const Coordinates at = coordinates_of(shape, rank);
  return fmt::format("rank {} on {} (process {}; tensor {}, data {}, pipeline {})", rank, name.host, name.process, at.tensor,
                     at.data, at.pipeline);
}

std::string doing_text(const Seen& seen) {
  if (!seen.known) return "its node does not answer";
  std::string text = seen.step < 0 ? "before the first step" : fmt::format("step {}", seen.step + 1);
  if (seen.kind < 0) return text + ", between actions";
  text += fmt::format(", {}{}", is_wait(seen.kind) ? "waiting for " : "", name_of_kind(seen.kind));
  if (seen.subject.peer >= 0) text += fmt::format(" with rank {}", seen.subject.peer);
  if (seen.subject.microbatch >= 0) text += fmt::format(" of microbatch {}", seen.subject.microbatch);
  if (seen.subject.chunk >= 0) text += fmt::format(", chunk {}", seen.subject.chunk);
  return text;
}

/// "rank 1 waits for it in pp_gradient, for 30 s", for the first of those that wait. Where the culprit has stopped, its part in
/// what it has come to stays undone as well.
std::string owed_text(const Seen& culprit, Fault fault, const std::vector<Seen>& all, const Shape& shape) {
  const auto owes = fault == Fault::stopped ? needs : waits_for;
  std::string text;
  std::size_t named = 0, waiting = 0, indirectly = 0;
  for (const Seen& seen : all) {
    if (seen.left || !waits(seen) || seen.rank == culprit.rank) continue;
    if (!owes(seen, culprit, shape)) {
      ++indirectly;
    } else if (++waiting; named < most_named) {
      ++named;
      text += fmt::format("; rank {} waits for it in {}, for {:.0f} s", seen.rank, name_of_kind(seen.kind), seen.unchanged);
    }
  }
  if (waiting > named) text += fmt::format("; {} more wait for it", waiting - named);
  if (waiting == 0) text += "; no rank seen waits for it";
  if (indirectly > 0) text += fmt::format("; {} more wait for others", indirectly);
  return text;
}

std::string fault_text(const Verdict& verdict, const Seen& first) {
  switch (verdict.fault) {
    case Fault::stopped:
      return first.known ? fmt::format("does not run (stopped, swapped out or dead) for {:.0f} s; last seen", first.unchanged)
                         : "is not heard of";
    case Fault::stuck:
      return fmt::format("gets nowhere for {:.0f} s", first.unchanged);
    case Fault::circle:
      return fmt::format("waits in a circle of {} ranks for {:.0f} s", verdict.ranks.size(), first.unchanged);
    default:
      return fmt::format("waits for {:.0f} s, as all ranks do, and none is missing: a message was lost", first.unchanged);
  }
}

}  // namespace

bool overdue(const Seen& rank, double limit) {
  return !rank.left && rank.unchanged >= (rank.starting ? patience_at_start : 1) * limit;
}

std::optional<Verdict> judge(const std::vector<Seen>& all, double limit, const Shape& shape) {
  Verdict stopped{Fault::stopped, {}};
  const Seen* stuck = nullptr;
  bool everywhere = std::ssize(all) == shape.ranks();
  for (const Seen& seen : all) {
    if (!overdue(seen, limit)) {
      everywhere = everywhere && seen.left;
    } else if (seen.unheard >= limit) {
      stopped.ranks.push_back(seen.rank);
    } else if (!waits(seen) && (!stuck || seen.unchanged > stuck->unchanged)) {
      stuck = &seen;
    }
  }
  std::sort(stopped.ranks.begin(), stopped.ranks.end());
  if (!stopped.ranks.empty()) return stopped;
  if (stuck) return Verdict{Fault::stuck, {stuck->rank}};
  const bool anybody = std::any_of(all.begin(), all.end(), [](const Seen& seen) { return !seen.left; });
  if (everywhere && anybody) return follow_waits(all, shape);
  return std::nullopt;
}

std::string describe(const Verdict& verdict, const std::vector<Seen>& all, const std::vector<Identity>& names,
                     const Shape& shape) {
  const Seen& first = *find(all, verdict.ranks.front());
  std::string text = fmt::format("{} {}: {}", name_of(first.rank, names, shape), fault_text(verdict, first), doing_text(first));
  if (verdict.fault != Fault::circle) text += owed_text(first, verdict.fault, all, shape);
  for (std::size_t k = 1; k < verdict.ranks.size(); ++k) {
    const Seen& other = *find(all, verdict.ranks[k]);
    text += k < most_named ? fmt::format("; {} {}: {}", verdict.fault == Fault::circle ? "then" : "also",
                                         name_of(other.rank, names, shape), doing_text(other))
                           : "";
  }
  if (verdict.ranks.size() > most_named) text += fmt::format("; {} more", verdict.ranks.size() - most_named);
  return text;
}

}  // namespace trireme::grid
