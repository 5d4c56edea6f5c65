#include "train/loop.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "config/write.h"
#include "grid/cores.h"
#include "grid/topology.h"
#include "spec/flops.h"
#include "train/machine.h"
#include "train/records.h"
#include "train/report.h"
#include "train/run_folder.h"
#include "train/sources.h"

namespace trireme::train {
namespace {

/// The run from the first step to the last; `folder` and `metrics` on rank 0 only.
class Loop {
 public:
  Loop(grid::World& world, const config::Resolved& resolved, Trainer& trainer, int threads)
      : world_(world), config_(resolved.config), trainer_(trainer), threads_(threads) {}

  void start(const config::Resolved& resolved, const std::string& head, const std::vector<grid::Place>& places);
  void steps();
  void finish();

 private:
  StartFacts measure();
  StepRecord step(std::int64_t k);
  void log(const StepRecord& record);
  void stop_if_not_finite(const StepRecord& record);
  void stop_if_copies_differ(std::int64_t step);
  void stop(base::Exit status, const std::string& why);
  bool logged(const StepRecord& record) const;
  double over_ranks(double value, grid::Reduce op);

  grid::World& world_;
  const config::Config& config_;
  Trainer& trainer_;
  int threads_;
  std::unique_ptr<RunFolder> folder_;
  std::optional<MetricsFile> metrics_;
  std::vector<std::string> hosts_;
  StartFacts facts_;
  double pace_ = 0;      // seconds a step, without evaluation; the first step left out once there are others
  double in_steps_ = 0;  // seconds
};

double Loop::over_ranks(double value, grid::Reduce op) {
  world_.everyone().wait(world_.everyone().all_reduce(kernels::view(value), op, grid::Traffic::control));
  return value;
}

StartFacts Loop::measure() {
  world_.barrier();
  StartFacts facts{.arena_bytes = {},
                   .predicted_bytes = 0,
                   .available_bytes = 0,
                   .peak_flops = measure_peak_flops(trainer_.kernels()),
                   .threads = threads_};
  facts.peak_flops = -over_ranks(-facts.peak_flops, grid::Reduce::maximum);
  facts.available_bytes = -over_ranks(-available_memory() / world_.node_size(), grid::Reduce::maximum);
  for (const kernels::Arena* arena : trainer_.arenas())
    facts.arena_bytes.push_back(over_ranks(static_cast<double>(arena->peak_bytes()), grid::Reduce::maximum));
  const auto& predicted = trainer_.predicted_memory().bytes;
  const double own =
      static_cast<double>(std::accumulate(predicted.begin(), predicted.begin() + std::ssize(facts.arena_bytes), std::int64_t{0}));
  facts.predicted_bytes = over_ranks(own, grid::Reduce::maximum);
  return facts;
}

void Loop::start(const config::Resolved& resolved, const std::string& head, const std::vector<grid::Place>& places) {
  facts_ = measure();
  world_.agree([&] {
    if (world_.rank() != 0) return;
    folder_ = std::make_unique<RunFolder>(config_.run.directory);
    folder_->write_status("running");
    folder_->write("config.toml", config::write_config(resolved));
    folder_->write("topology.tsv", grid::topology_tsv(places));
    metrics_.emplace(folder_->file("metrics.csv"));
    for (const grid::Place& place : places) hosts_.push_back(place.host);
    const grid::Shape& shape = trainer_.grid().shape();
    folder_->print(head + grid::topology_table(places) + grid::group_report(places, shape) +
                   start_block(config_, trainer_, shape, facts_) + fmt::format("results in {}\n\n", config_.run.directory));
  });
}

StepRecord Loop::step(std::int64_t k) {
  const double begin = now();
  StepRecord record{.step = k + 1, .result = trainer_.step(k), .validation_loss = {}, .threads = threads_};
  record.seconds = now() - begin;
  in_steps_ += record.seconds;
  pace_ = k <= 1 ? record.seconds : pace_ + (record.seconds - pace_) / std::min<double>(static_cast<double>(k), 20);
  record.samples = record.step * config_.batch.global;
  record.tokens = record.samples * config_.model.sequence;
  const double batch = static_cast<double>(config_.batch.global), ranks = world_.size();
  record.tokens_per_second = batch * static_cast<double>(config_.model.sequence) / record.seconds;
  record.model_tflops = spec::model_flops(config_.model, batch) / record.seconds / ranks / 1e12;
  record.hardware_tflops = spec::hardware_flops(config_.model, config_.parallel, batch) / record.seconds / ranks / 1e12;
  return record;
}

bool Loop::logged(const StepRecord& record) const {
  return record.step == 1 || record.step == config_.run.steps || record.step % config_.run.log_every == 0 ||
         record.validation_loss.has_value();
}

void Loop::log(const StepRecord& record) {
  const Timers::Scope scope(trainer_.timers(), Work::output);
  world_.agree([&] {
    if (world_.rank() != 0) return;
    metrics_->append(record);
    folder_->print(
        step_line(record, config_.run.steps, facts_.peak_flops, pace_ * static_cast<double>(config_.run.steps - record.step)));
  });
}

/// Every rank, with equal arguments; does not return.
void Loop::stop(base::Exit status, const std::string& why) {
  world_.agree([&] {
    if (folder_) folder_->write_status(fmt::format("{} {}", static_cast<int>(status), why));
    throw base::Error(status, why);
  });
}

void Loop::stop_if_not_finite(const StepRecord& record) {
  if (record.result.finite()) return;
  stop(base::Exit::not_finite,
       fmt::format("step {}: loss {}, gradient norm {}: not finite; the weights are those before this step", record.step,
                   record.result.loss, record.result.gradient_norm));
}

void Loop::stop_if_copies_differ(std::int64_t step) {
  const auto every = config_.run.check_copies_every;
  if (every == 0 || step % every != 0) return;
  const Timers::Scope scope(trainer_.timers(), Work::output);
  const std::string fault = trainer_.differing_copies();
  if (!fault.empty()) stop(base::Exit::mismatch, fmt::format("after step {}: {}", step, fault));
}

void Loop::steps() {
  for (std::int64_t k = 0; k < config_.run.steps; ++k) {
    StepRecord record = step(k);
    const auto every = config_.run.evaluate_every;
    if (every > 0 && record.result.finite() && (record.step % every == 0 || record.step == config_.run.steps))
      record.validation_loss = trainer_.evaluate();
    if (logged(record) || !record.result.finite()) {
      record.peak_memory_bytes =
          static_cast<std::int64_t>(over_ranks(static_cast<double>(peak_resident_memory()), grid::Reduce::maximum));
      log(record);
    }
    stop_if_not_finite(record);
    stop_if_copies_differ(record.step);
  }
}

void Loop::finish() {
  if (!config_.run.final_weights.empty()) trainer_.save(config_.run.final_weights);
  const auto columns = rank_columns(trainer_, world_.traffic());
  const auto values = gather_columns(columns, world_);
  world_.agree([&] {
    if (!folder_) return;
    folder_->write("summary.json", summary_json(columns, values, trainer_.grid().shape()));
    folder_->print("\n" + end_table(columns, values, trainer_.schedule(), in_steps_, hosts_));
    folder_->write_status("0 done");
  });
}

/// The file of start weights, opened and held against the parameter table by every rank; nothing when the weights are random.
std::optional<store::Gpt2Weights> open_initial(const config::Config& config, grid::World& world) {
  std::optional<store::Gpt2Weights> initial;
  world.agree([&] {
    if (!config.model.initial.empty()) initial.emplace(config.model.initial, spec::model_parameters(config.model));
  });
  return initial;
}

}  // namespace

void run_training(grid::World& world, const config::Resolved& resolved, const std::string& banner) {
  const config::Config& config = resolved.config;
  const int cores = grid::cores_of_rank(world);
  const int threads = config.run.threads > 0 ? static_cast<int>(config.run.threads) : cores;
  OpenedSources opened = open_sources(config, world);
  const auto initial = open_initial(config, world);
  world.agree([&] {
    if (world.rank() != 0) return;
    check_run_folder(config.run.directory, resolved.path);
    if (!config.run.final_weights.empty()) check_output_file("run.final_weights", config.run.final_weights);
  });
  Trainer trainer(config, threads, world, std::move(opened.sources), initial ? &*initial : nullptr);
  const auto places = gather_places(world, trainer.grid().shape(), trainer.device().name());
  world.agree([&] {
    if (config.placement.strict) refuse_split_tensor_groups(places, trainer.grid().shape());
  });
  Loop loop(world, resolved, trainer, threads);
  loop.start(resolved, banner + opened.yardstick, places);
  loop.steps();
  loop.finish();
}

}  // namespace trireme::train
