#include "train/report.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/units.h"
#include "schedule/timing.h"
#include "spec/flops.h"
#include "spec/parameters.h"

namespace trireme::train {
namespace {

std::string memory_line(const Trainer& trainer, const StartFacts& facts) {
  const auto arenas = trainer.arenas();
  std::string parts;
  for (std::size_t k = 0; k < arenas.size(); ++k)
    parts += fmt::format("{}{} {}", k ? " + " : "", arenas[k]->name(), base::bytes_text(facts.arena_bytes[k]));
  const double total = std::accumulate(facts.arena_bytes.begin(), facts.arena_bytes.end(), 0.0);
  return fmt::format("memory a rank, at most: {} = {} of {} available; {} predicted for the costliest stage\n", parts,
                     base::bytes_text(total), base::bytes_text(facts.available_bytes), base::bytes_text(facts.predicted_bytes));
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
  return fmt::format("  {:<24}{:>10.2f}{:>10.2f}{:>10.2f}{:>6}\n", name, s.least, s.mean, s.most, s.slowest);
}

}  // namespace

std::string layout_text(const config::Config& config, const spec::StageMap& map, const schedule::Schedule& schedule,
                        const grid::Shape& shape) {
  const auto& model = config.model;
  std::string text = fmt::format("model: l = {} layers, h = {}, a = {} heads, s = {}, V = {} (padded to {})\nparameters {}\n",
                                 model.layers, model.hidden, model.heads, model.sequence, model.vocabulary,
                                 spec::padded_vocabulary(model.vocabulary, shape.tensor), spec::parameter_count(model));
  text += fmt::format("layout: t = {} p = {} d = {}, schedule {}, global batch {} = d {} x m {} microbatches x b {}\n",
                      shape.tensor, shape.pipeline, shape.data, schedule::name_of(schedule.kind), config.batch.global, shape.data,
                      schedule.microbatches, config.batch.micro);
  return text + describe(map, model);
}

std::string flops_line(const config::Config& config) {
  const double batch = static_cast<double>(config.batch.global);
  return fmt::format("FLOPs a step: model {}FLOP, hardware {}FLOP (recomputation counted; attention dense in both)\n",
                     base::rate_text(spec::model_flops(config.model, batch)),
                     base::rate_text(spec::hardware_flops(config.model, config.parallel, batch)));
}

std::string start_block(const config::Config& config, const Trainer& trainer, const grid::Shape& shape, const StartFacts& facts) {
  std::string text = layout_text(config, trainer.stage_map(), trainer.schedule(), shape);
  text += memory_line(trainer, facts);
  text += flops_line(config);
  return text + fmt::format("peak a rank: {}FLOP/s of {} thread{}, fp32 matrix products measured now on all ranks at once\n",
                            base::rate_text(facts.peak_flops), facts.threads, facts.threads == 1 ? "" : "s");
}

std::string step_line(const StepRecord& r, std::int64_t steps, double peak_flops, double seconds_left) {
  const double flops = r.hardware_tflops * 1e12;
  const std::string validation = r.validation_loss ? fmt::format("  validation {:.4f}", *r.validation_loss) : "";
  return fmt::format(
      "step {:>{}}/{}  loss {:.4f}{}  lr {:.2e}  grad {:.3f}  {:.0f} ms  {}tok/s  {}FLOP/s/rank {:.0f} %  mem {}  eta {}\n",
      r.step, std::to_string(steps).size(), steps, r.result.loss, validation, r.result.learning_rate, r.result.gradient_norm,
      r.seconds * 1e3, base::rate_text(r.tokens_per_second), base::rate_text(flops), 100 * flops / peak_flops,
      base::bytes_text(static_cast<double>(r.peak_memory_bytes)), base::time_text(seconds_left));
}

std::string end_table(const std::vector<RankColumn>& columns, const std::vector<std::vector<double>>& values,
                      const schedule::Schedule& schedule, double step_seconds, const std::vector<std::string>& hosts) {
  std::string text = fmt::format("seconds over the run         {:>7}{:>10}{:>10}{:>6}\n", "min", "mean", "max", "rank");
  for (std::size_t k : select(columns, "seconds")) text += row(columns[k].name, spread(values, {k}));
  for (const char* prefix : {"tp_", "pp_", "dp_", "tied_embedding", "control"})
    text += row(fmt::format("wait {}", prefix), spread(values, select(columns, "wait_seconds", prefix)));
  std::vector<std::size_t> compute = select(columns, "seconds", "forward");
  for (std::size_t k : select(columns, "seconds", "backward")) compute.push_back(k);
  const Spread passes = spread(values, compute), pipeline = spread(values, select(columns, "wait_seconds", "pp_"));
  text += fmt::format(
      "bubble, in times of forward + backward: (p-1)/(v m) = {:.3f} by formula; {:.3f} measured as the mean wait for "
      "the pipeline over the mean of forward + backward\n",
      schedule::bubble_formula(schedule), pipeline.mean / passes.mean);
  text += fmt::format("slowest rank in forward + backward: {} on {} ({:.2f} s; mean {:.2f} s); {:.2f} s in steps\n",
                      passes.slowest, hosts[passes.slowest], passes.most, passes.mean, step_seconds);
  return text;
}

}  // namespace trireme::train
