#include "run/report.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/units.h"
#include "schedule/timing.h"
#include "view/layout_text.h"
#include "view/trace_kinds.h"

namespace trireme::run {
namespace {

std::string memory_line(const Start& start) {
  const int stage = start.layout.costliest_stage();
  const spec::StageMemory& memory = start.layout.memory[stage];
  std::string parts;
  for (std::size_t k = 0; k < spec::memory_classes.size(); ++k)
    parts +=
        fmt::format("{}{} {}", k ? " + " : "", spec::memory_classes[k], base::bytes_text(static_cast<double>(memory.bytes[k])));
  return fmt::format("memory a rank of stage {}, the costliest: {} = {}; {} of the node's are there for each rank\n", stage,
                     parts, base::bytes_text(static_cast<double>(memory.total())), base::bytes_text(start.available_bytes));
}

struct Spread {
  double least, mean, most;
  int slowest;  // rank
};

Spread spread(const std::vector<std::vector<double>>& values, const std::vector<std::size_t>& columns) {
  std::vector<double> sums;
  for (const auto& row : values) {
    double sum = 0;
    for (std::size_t k : columns) sum += row[k];
    sums.push_back(sum);
  }
  const auto [least, most] = std::minmax_element(sums.begin(), sums.end());
  const double mean = std::accumulate(sums.begin(), sums.end(), 0.0) / static_cast<double>(sums.size());
  return {*least, mean, *most, static_cast<int>(most - sums.begin())};
}

/// Columns of `group`; with a prefix, only those whose name starts with it.
std::vector<std::size_t> select(const std::vector<RankColumn>& columns, const std::string& group,
                                const std::string& prefix = "") {
  std::vector<std::size_t> selected;
  for (std::size_t k = 0; k < columns.size(); ++k)
    if (columns[k].group == group && columns[k].name.starts_with(prefix)) selected.push_back(k);
  return selected;
}

std::string row(const std::string& name, const Spread& s) {
  return fmt::format("  {:<34}{:>10.3f}{:>10.3f}{:>10.3f}{:>13}\n", name, s.least, s.mean, s.most, s.slowest);
}

/// What waiting for a kind of communication is called; the prefix of its names in summary.json.
constexpr std::array<std::pair<const char*, const char*>, 5> waits = {{{"tp_", "waiting for tensor ranks"},
                                                                       {"pp_", "waiting for other stages"},
                                                                       {"dp_", "waiting for data ranks"},
                                                                       {"tied_embedding", "waiting for the tied embedding"},
                                                                       {"control", "waiting to agree (losses, norms)"}}};

}  // namespace

std::string start_block(const config::Config& config, const Start& start) {
  std::string text =
      start.opened.yardstick + grid::topology_table(start.places) + grid::group_report(start.places, start.layout.shape);
  text += fmt::format("threads a rank: {} ({})\n", start.threads, start.threads_by);
  if (start.shares_cores)
    text += fmt::format(
        "note: the ranks of this node have {} thread{} each, which is more than its cores in all. The run works, but its times "
        "do not show how fast it can be. For such times, start fewer ranks on a node{}\n",
        start.threads, start.threads == 1 ? "" : "s", start.threads == 1 ? "" : ", or set run.threads lower");
  text += view::layout_text(config, start.layout);
  return text + memory_line(start) + view::flops_line(config) + fmt::format("results in {}\n", config.run.directory);
}

std::string step_line(const StepRecord& r, std::int64_t steps, double peak_flops, double seconds_left) {
  const double flops = r.hardware_tflops * 1e12;
  const std::string share = peak_flops > 0 ? fmt::format(" {:.0f} %", 100 * flops / peak_flops) : "";
  std::string scale = r.result.loss_scale ? fmt::format("  scale {}", base::real_text(*r.result.loss_scale)) : "";
  if (r.result.skipped) scale += fmt::format(" skipped ({} so far)", r.result.skipped_steps);
  const std::string validation = r.validation_loss ? fmt::format("  validation {:.4f}", *r.validation_loss) : "";
  return fmt::format(
      "step {:>{}}/{}  loss {:.4f}{}  lr {:.2e}  grad {:.3f}{}  {:.0f} ms  {}tok/s  {}FLOP/s/rank{}  rss {}  eta {}\n", r.step,
      std::to_string(steps).size(), steps, r.result.loss, validation, r.result.learning_rate, r.result.gradient_norm, scale,
      r.seconds * 1e3, base::rate_text(r.tokens_per_second), base::rate_text(flops), share,
      base::bytes_text(static_cast<double>(r.peak_memory_bytes)), base::time_text(seconds_left));
}

std::string end_table(const RankTable& table, const Start& start) {
  const auto& [columns, values] = table;
  const schedule::Schedule& schedule = start.layout.training.schedule;
  const std::vector<std::size_t> work = select(columns, "seconds"), waiting = select(columns, "wait_seconds");
  std::string text = fmt::format("{:<36}{:>10}{:>10}{:>10}{:>13}\n", "seconds over the run", "min", "mean", "max", "rank of max");
  for (std::size_t k : work) text += row(columns[k].name, spread(values, {k}));
  for (const auto& [prefix, name] : waits)
    if (const Spread s = spread(values, select(columns, "wait_seconds", prefix)); s.most > 0) text += row(name, s);
  std::vector<std::size_t> all = work;
  all.insert(all.end(), waiting.begin(), waiting.end());
  text += row("all of these", spread(values, all));
  text += row("the whole run", spread(values, select(columns, "run_seconds")));
  std::vector<std::size_t> passes_columns;
  for (std::size_t kind = 0; kind < grid::work_names.size(); ++kind)
    if (view::is_pass(static_cast<int>(kind)))
      for (std::size_t k : select(columns, "seconds", std::string(grid::work_names[kind]))) passes_columns.push_back(k);
  const Spread passes = spread(values, passes_columns), pipeline = spread(values, select(columns, "wait_seconds", "pp_"));
  if (schedule.stages > 1)
    text += fmt::format(
        "bubble: a stage waits {} = {:.3f} s for each second of forward + backward, by formula; measured, in the mean over the "
        "ranks: {:.3f} s{}\n",
        schedule::bubble_words(schedule.kind), schedule::bubble_formula(schedule), pipeline.mean / passes.mean,
        start.shares_cores ? " (there are more threads than cores: most of that is waiting for a core)" : "");
  return text + fmt::format("slowest rank in forward + backward: {} on {} ({:.3f} s; mean {:.3f} s)\n", passes.slowest,
                            start.places[passes.slowest].host, passes.most, passes.mean);
}

}  // namespace trireme::run
