#include "run/recorder.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/clock.h"
#include "run/machine.h"
#include "run/report.h"
#include "spec/flops.h"

namespace trireme::run {

Recorder::Recorder(grid::World& world, const config::Config& config, const Start& start, const Machine& machine,
                   RunFolder* folder)
    : world_(world), config_(config), start_(start), machine_(machine), folder_(folder) {}

void Recorder::open() {
  world_.agree([&] {
    if (folder_) metrics_.emplace(folder_->file("metrics.csv"), start_.origin.step);
  });
}

StepRecord Recorder::record(std::int64_t step, const train::StepResult& result, double seconds) {
  if (steps_ == 0) private_first_step_ = private_memory();
  pace_ = steps_ <= 1 ? seconds : pace_ + (seconds - pace_) / std::min<double>(static_cast<double>(steps_), 20);
  ++steps_;
  const double batch = static_cast<double>(config_.batch.global), ranks = world_.size();
  StepRecord record{.step = step, .result = result, .validation_loss = {}, .seconds = seconds, .threads = start_.threads};
  record.samples = step * config_.batch.global;
  record.tokens = record.samples * config_.model.sequence;
  record.tokens_per_second = batch * static_cast<double>(config_.model.sequence) / seconds;
  record.model_tflops = spec::model_flops(config_.model, batch) / seconds / ranks / 1e12;
  record.hardware_tflops = spec::hardware_flops(config_.model, config_.parallel, batch) / seconds / ranks / 1e12;
  return record;
}

bool Recorder::logged(const StepRecord& record) const {
  return record.step == 1 || record.step == config_.run.steps || record.step % config_.run.log_every == 0 ||
         record.validation_loss.has_value() || !record.result.finite();
}

void Recorder::log(StepRecord& record) {
  if (!logged(record)) return;
  record.peak_memory_bytes = static_cast<std::int64_t>(world_.everyone().largest(static_cast<double>(peak_resident_memory())));
  const grid::Activity::Scope scope(world_.activity(), grid::Work::output);
  if (!folder_) return;
  keep_going([&] { metrics_->append(record); });
  const double left = pace_ * static_cast<double>(config_.run.steps - record.step);
  folder_->print(step_line(record, config_.run.steps, machine_.peak_flops, left));
}

void Recorder::last_step_done() { private_last_step_ = private_memory(); }

void Recorder::summarize(train::Trainer& trainer, const kernels::Arena& snapshot, const StepRecord& last) {
  const ProcessFacts process{base::now() - machine_.begin, machine_.private_memory, private_first_step_, private_last_step_,
                             private_memory()};
  const RankTable table = gather_ranks(trainer, snapshot, process);
  if (!folder_) return;
  keep_going([&] { folder_->write("summary.json", summary_json(table, config_, start_.layout.shape, last)); });
  folder_->print("\n" + end_table(table, start_));
}

void Recorder::keep_going(const std::function<void()>& write) {
  try {
    write();
  } catch (const base::Error& error) {
    if (!lost_) fmt::print(stderr, "warning: {}; the run goes on\n", error.what());
    lost_ = error;
  }
}

void Recorder::print(const std::string& text) const {
  if (folder_) folder_->print(text);
}

}  // namespace trireme::run
