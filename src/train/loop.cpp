#include "train/loop.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/units.h"
#include "config/write.h"
#include "grid/watchdog.h"
#include "spec/flops.h"
#include "train/machine.h"
#include "train/non_finite.h"
#include "train/records.h"
#include "train/report.h"
#include "train/run_folder.h"

namespace trireme::train {
namespace {

/// What was measured before the model's memory was taken.
struct Machine {
  double begin = 0;       // of the run, on the clock of base::now()
  double peak_flops = 0;  // a rank: matrix products, the mean over the ranks
};

/// The run from its first step to its last; `folder` on rank 0 only.
class Loop {
 public:
  Loop(grid::World& world, const config::Config& config, const Start& start, Trainer& trainer, RunFolder* folder,
       const Machine& machine, const Signals& signals)
      : world_(world),
        config_(config),
        start_(start),
        trainer_(trainer),
        folder_(folder),
        machine_(machine),
        turns_(world, signals, config.run.directory, config.run.time_limit) {}

  void run();

 private:
  StepRecord step(std::int64_t k);
  /// Every rank: whether a signal, the time or RUN/STOP ends the run here.
  bool ends();
  void log(const StepRecord& record);
  void stop(base::Exit status, const std::string& why);
  void stop_if_not_finite(const StepRecord& record);
  void stop_if_copies_differ(std::int64_t step);
  bool logged(const StepRecord& record) const;
  void finish(const StepRecord& last);
  /// Rank 0: a result that cannot be written does not cost the run; it is said once, and the run's status is failure.
  void keep_going(const std::function<void()>& write);

  grid::World& world_;
  const config::Config& config_;
  const Start& start_;
  Trainer& trainer_;
  RunFolder* folder_;
  Machine machine_;
  Turns turns_;
  std::optional<MetricsFile> metrics_;
  std::optional<base::Error> lost_;
  std::int64_t private_first_step_ = 0;
  double pace_ = 0;  // seconds a step, without evaluation; the first step left out once there are others
};

StepRecord Loop::step(std::int64_t k) {
  const double begin = base::now();
  StepRecord record{.step = k + 1, .result = trainer_.step(k), .validation_loss = {}, .threads = start_.threads};
  record.seconds = base::now() - begin;
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
         record.validation_loss.has_value() || !record.result.finite();
}

void Loop::keep_going(const std::function<void()>& write) {
  try {
    write();
  } catch (const base::Error& error) {
    if (!lost_) fmt::print(stderr, "warning: {}; the run goes on\n", error.what());
    lost_ = error;
  }
}

void Loop::log(const StepRecord& record) {
  const grid::Activity::Scope scope(world_.activity(), grid::Work::output);
  if (!folder_) return;
  keep_going([&] { metrics_->append(record); });
  const double left = pace_ * static_cast<double>(config_.run.steps - record.step);
  folder_->print(step_line(record, config_.run.steps, machine_.peak_flops, left));
}

/// Every rank, with equal arguments; does not return.
void Loop::stop(base::Exit status, const std::string& why) {
  world_.agree([&] { throw base::Error(status, why); });
}

void Loop::stop_if_not_finite(const StepRecord& record) {
  if (record.result.finite()) return;
  stop(base::Exit::not_finite, fmt::format("step {}: loss {}, gradient norm {}: not finite; {}", record.step, record.result.loss,
                                           record.result.gradient_norm, first_non_finite(trainer_, record.step - 1)));
}

void Loop::stop_if_copies_differ(std::int64_t step) {
  const auto every = config_.run.check_copies_every;
  if (every == 0 || step % every != 0) return;
  const grid::Activity::Scope scope(world_.activity(), grid::Work::output);
  const std::string fault = trainer_.differing_copies();
  if (!fault.empty()) stop(base::Exit::mismatch, fmt::format("after step {}: {}", step, fault));
}

bool Loop::ends() {
  switch (turns_.next()) {
    case Turn::go_on:
      return false;
    case Turn::save_and_go_on:
      turns_.honoured();
      return false;
    case Turn::save_and_requeue:
      stop(base::Exit::saved, turns_.reason());
      return true;
    default:
      if (folder_) folder_->print("ends: " + turns_.reason() + "\n");
      return true;
  }
}

void Loop::run() {
  world_.agree([&] {
    if (folder_) metrics_.emplace(folder_->file("metrics.csv"));
  });
  StepRecord record;
  for (std::int64_t k = 0; k < config_.run.steps && !ends(); ++k) {
    record = step(k);
    if (k == 0) private_first_step_ = private_memory();
    const auto every = config_.run.evaluate_every;
    const bool due = every > 0 && record.result.finite() && (record.step % every == 0 || record.step == config_.run.steps);
    if (due && turns_.next() <= Turn::save_and_go_on) record.validation_loss = trainer_.evaluate();
    if (logged(record)) {
      record.peak_memory_bytes = static_cast<std::int64_t>(world_.largest(static_cast<double>(peak_resident_memory())));
      log(record);
    }
    stop_if_not_finite(record);
    stop_if_copies_differ(record.step);
  }
  finish(record);
}

/// The weights are saved whatever becomes of the records.
void Loop::finish(const StepRecord& last) {
  const ProcessFacts process{base::now() - machine_.begin, trainer_.private_before_arenas(), private_first_step_,
                             private_memory()};
  const RankTable table = gather_ranks(trainer_, process, world_);
  if (folder_) {
    keep_going([&] { folder_->write("summary.json", summary_json(table, config_, start_.shape, last)); });
    folder_->print("\n" + end_table(table, trainer_.schedule(), start_));
  }
  if (!config_.run.final_weights.empty()) trainer_.save(config_.run.final_weights);
  world_.agree([&] {
    if (lost_) throw *lost_;
  });
}

std::unique_ptr<RunFolder> open_folder(grid::World& world, const config::Resolved& resolved, const Start& start,
                                       const std::string& banner) {
  std::unique_ptr<RunFolder> folder;
  world.agree([&] {
    if (world.rank() != 0) return;
    folder = std::make_unique<RunFolder>(resolved.config.run.directory);
    folder->write_status("running");
    folder->write("config.toml", fmt::format("# ran on {} ranks\n{}", world.size(), config::write_config(resolved)));
    folder->write("topology.tsv", grid::topology_tsv(start.places));
    folder->print(banner + start_block(resolved.config, start));
  });
  return folder;
}

/// The products come first: they fault in what the libraries need, so that private memory grows by the model's alone afterwards.
Machine measure_machine(grid::World& world, kernels::Kernels& kernels, const Start& start, double begin, RunFolder* folder) {
  world.barrier();
  const double peak = world.sum(measure_peak_flops(kernels)) / world.size();
  if (folder)
    folder->print(
        fmt::format("peak a rank: {}FLOP/s with {} thread{}: fp32 matrix products, measured now on all ranks at once\n\n",
                    base::rate_text(peak), start.threads, start.threads == 1 ? "" : "s"));
  return {begin, peak};
}

/// Every rank; null when run.watchdog is 0.
std::unique_ptr<grid::Watchdog> start_watchdog(grid::World& world, const config::Run& run, const Start& start) {
  if (run.watchdog == 0) return nullptr;
  const auto end = [&world, &run](const std::string& what) {
    write_status_in(run.directory, fmt::format("{} {}", static_cast<int>(base::Exit::unresponsive), what));
    world.abort(base::Exit::unresponsive, "watchdog: " + what);
  };
  return std::make_unique<grid::Watchdog>(
      world, start.shape, grid::Watchdog::Options{.limit = run.watchdog, .folder = run.directory + "/watchdog", .end = end});
}

}  // namespace

void run_training(grid::World& world, const config::Resolved& resolved, const std::string& banner, const Signals& signals) {
  const double begin = base::now();
  if (stops_at_start(world, resolved.config.run.directory)) return;
  Start start = check_start(world, resolved);
  const auto folder = open_folder(world, resolved, start, banner);
  const auto watchdog = start_watchdog(world, resolved.config.run, start);
  if (const double late = begin - signals.begin(); folder && late > 10)
    folder->print(fmt::format("MPI took {} to start; run.time_limit counts from before\n", base::time_text(late)));
  try {
    auto kernels = make_kernels(resolved.config.model, start.threads);
    const Machine machine = measure_machine(world, *kernels, start, begin, folder.get());
    Trainer trainer(resolved.config, start.threads, world, std::move(start.opened.sources),
                    start.initial ? &*start.initial : nullptr, std::move(kernels));
    if (start.initial) refuse_non_finite_weights(trainer, resolved.config.model.initial);
    Loop(world, resolved.config, start, trainer, folder.get(), machine, signals).run();
    if (folder) folder->write_status("0 done");
  } catch (const grid::Agreed& end) {
    if (folder) folder->write_status(fmt::format("{} {}", static_cast<int>(end.status), end.message));
    throw;
  }
}

}  // namespace trireme::train
