#include "run/recorder.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "base/units.h"
#include "run/machine.h"
#include "run/report.h"
#include "spec/flops.h"

namespace trireme::run {

Recorder::Recorder(grid::World& world, const config::Config& config, const Start& start, const Machine& machine,
                   folder::RunFolder* folder)
    : world_(world), config_(config), start_(start), machine_(machine), folder_(folder), peak_flops_(machine.peak_flops) {}

void Recorder::open() {
  world_.agree([&] {
    if (!folder_) return;
    if (const auto& entropy = start_.opened.entropy) folder_->write("entropy.json", entropy_json(*entropy));
    const std::string path = folder_->file("metrics.csv");
    const std::int64_t step = start_.origin.step;
    const bool is_there = step > 0 && std::filesystem::exists(path);
    const KeptRows kept = kept_rows(is_there ? base::read_file(path) : "", step, config_.batch.global);
    metrics_.emplace(path, kept.rows);
    if (kept.dropped > 0)
      folder_->print(fmt::format(
          "{}: {} left out\n", path,
          kept.dropped == 1 ? "a line that is no row was" : fmt::format("{} lines that are no rows were", kept.dropped)));
    if (!kept.missing.empty()) folder_->print(fmt::format("{}: these steps have no row: {}\n", path, kept.missing));
  });
}

StepRecord Recorder::record(std::int64_t step, const train::StepResult& result, double seconds) {
  if (seconds_.empty()) private_first_step_ = private_memory();
  const auto before = static_cast<double>(seconds_.size());
  pace_ = before <= 1 ? seconds : pace_ + (seconds - pace_) / std::min<double>(before, 20);
  seconds_.push_back(seconds);
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

/// A step faster than the peak shows that the peak was measured while the machine was busy, or that other products are faster.
void Recorder::distrust_peak(const StepRecord& record) {
  const double rate = record.hardware_tflops * 1e12;
  if (peak_flops_ == 0 || rate <= peak_flops_) return;
  folder_->print(fmt::format(
      "note: step {} computed {}FLOP/s a rank, more than the {}FLOP/s measured at the start. The machine was busy then, "
      "or this model's products are faster than those; shares of that rate are left out from here on\n",
      record.step, base::rate_text(rate), base::rate_text(peak_flops_)));
  peak_flops_ = 0;
}

void Recorder::log(const StepRecord& record) {
  if (!folder_) return;
  const grid::Activity::Scope scope(world_.activity(), grid::Work::output);
  metrics_->append(record);
  if (!logged(record)) return;
  distrust_peak(record);
  const double left = pace_ * static_cast<double>(config_.run.steps - record.step);
  folder_->print(step_line(record, config_.run.steps, peak_flops_, left));
}

void Recorder::complete(const StepRecord& record) {
  if (!folder_) return;
  const grid::Activity::Scope scope(world_.activity(), grid::Work::output);
  try {
    if (!metrics_->complete(record))
      folder_->note(
          fmt::format("note: metrics.csv has no row of step {}, so its validation loss stands here alone\n", record.step));
  } catch (const base::Error& error) {
    lost_result_ = error.what();
    base::print_error(fmt::format("warning: {}", lost_result_));
  }
  folder_->print(fmt::format("step {}/{}  validation {:.4f}\n", record.step, config_.run.steps, *record.validation_loss));
}

void Recorder::last_step_done() { private_last_step_ = private_memory(); }

RunFacts Recorder::facts(const StepRecord& last, std::int64_t peak_memory) const {
  RunFacts facts{last, step_times(seconds_), peak_memory, {}, start_.threads};
  for (const grid::Place& place : start_.places)
    if (std::find(facts.hosts.begin(), facts.hosts.end(), place.host) == facts.hosts.end()) facts.hosts.push_back(place.host);
  return facts;
}

void Recorder::summarize(train::Trainer& trainer, const kernels::Arena& snapshot, const StepRecord& last) {
  const ProcessFacts process{base::now() - machine_.begin, machine_.private_memory, private_first_step_, private_last_step_,
                             private_memory()};
  const RankTable table = gather_ranks(trainer, snapshot, process);
  const double peak_memory = world_.everyone().largest(static_cast<double>(peak_resident_memory()));
  if (!folder_) return;
  try {
    const RunFacts run = facts(last, static_cast<std::int64_t>(peak_memory));
    folder_->write("summary.json", summary_json(table, config_, start_.layout.shape, run));
  } catch (const base::Error& error) {
    lost_result_ = error.what();
    base::print_error(fmt::format("warning: {}", lost_result_));
  }
  folder_->print("\n" + end_table(table, start_));
}

std::string Recorder::lost() const {
  if (!folder_) return "";
  for (const std::string& fault : {lost_result_, metrics_ ? metrics_->fault() : "", folder_->log_fault()})
    if (!fault.empty()) return fault;
  return "";
}

void Recorder::print(const std::string& text) const {
  if (folder_) folder_->print(text);
}

void Recorder::note(const std::string& text) const {
  if (folder_) folder_->note(text);
}

}  // namespace trireme::run
