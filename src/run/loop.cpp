#include "run/loop.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/units.h"
#include "config/write.h"
#include "run/machine.h"
#include "run/non_finite.h"
#include "run/report.h"
#include "spec/flops.h"
#include "store/checkpoint_folder.h"

namespace trireme::train {
namespace {

/// Bytes a second a rank that are counted on until a save has been measured, for the end of the job's time: few.
constexpr double unmeasured_save_rate = 50e6;

CheckpointPlan plan(const config::Resolved& resolved, const Start& start) {
  const config::Config& config = resolved.config;
  return {checkpoints_of(config.run.directory), write_config(resolved), config.batch.global, config.checkpoint.keep,
          start.damaged};
}

bool ends(Turn turn) { return turn == Turn::save_and_end || turn == Turn::save_and_requeue; }

}  // namespace

Loop::Loop(grid::World& world, const config::Resolved& resolved, const Start& start, Trainer& trainer, RunFolder* folder,
           const Machine& machine, const Signals& signals)
    : world_(world),
      config_(resolved.config),
      start_(start),
      trainer_(trainer),
      folder_(folder),
      machine_(machine),
      writer_(trainer.state(), plan(resolved, start), trainer.device(), trainer.grid(), trainer.snapshot()),
      turns_(world, signals, config_.run.directory, config_.run.time_limit),
      tracer_(world, config_, config::write_config(resolved), config_.run.directory, trainer.device()) {
  if (start.resumes && start.origin.moments) writer_.set_saved_step(start.origin.step);
  turns_.expect_save(static_cast<double>(spec::checkpoint_bytes(config_.model)) / world.size() / unmeasured_save_rate);
}

StepRecord Loop::step(std::int64_t k) {
  world_.activity().set_step(k + 1);
  const double begin = base::now();
  StepRecord record{.step = k + 1, .result = trainer_.step(k), .validation_loss = {}, .threads = start_.threads};
  record.seconds = base::now() - begin;
  if (steps_here_ == 0) private_first_step_ = private_memory();
  pace_ = steps_here_ <= 1 ? record.seconds
                           : pace_ + (record.seconds - pace_) / std::min<double>(static_cast<double>(steps_here_), 20);
  ++steps_here_;
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

void Loop::evaluate(StepRecord& record) {
  const auto every = config_.run.evaluate_every;
  if (every > 0 && (record.step % every == 0 || record.step == config_.run.steps)) record.validation_loss = trainer_.evaluate();
}

void Loop::log(StepRecord& record) {
  if (!logged(record)) return;
  record.peak_memory_bytes = static_cast<std::int64_t>(world_.everyone().largest(static_cast<double>(peak_resident_memory())));
  const grid::Activity::Scope scope(world_.activity(), grid::Work::output);
  if (!folder_) return;
  keep_going([&] { metrics_->append(record); });
  const double left = pace_ * static_cast<double>(config_.run.steps - record.step);
  folder_->print(step_line(record, config_.run.steps, machine_.peak_flops, left));
}

/// A trace that cannot be written is said, and is all that is lost.
void Loop::end_trace() {
  try {
    tracer_.end();
  } catch (const base::Error& error) {
    fmt::print(stderr, "warning: {}; the run goes on\n", error.what());
  }
}

/// Every rank, with equal arguments; does not return.
void Loop::stop(base::Exit status, const std::string& why) {
  end_trace();
  world_.agree([&] { throw base::Error(status, why); });
}

void Loop::stop_if_not_finite(const StepRecord& record) {
  const bool held_out = !record.validation_loss || std::isfinite(*record.validation_loss);
  if (record.result.finite() && held_out) return;
  try_to_save([&] { writer_.finish(); });  // of an earlier step, which was good
  if (record.result.finite()) {
    stop_if_weights_not_finite(record.step);
    stop(base::Exit::not_finite, fmt::format("step {}: validation loss {}: not finite", record.step, *record.validation_loss));
  }
  stop(base::Exit::not_finite, fmt::format("step {}: loss {}, gradient norm {}: not finite; {}", record.step, record.result.loss,
                                           record.result.gradient_norm, first_non_finite(trainer_, record.step - 1)));
}

/// The update of a finite gradient may overflow; a checkpoint of such weights would be worth nothing and push out good ones.
void Loop::stop_if_weights_not_finite(std::int64_t step) {
  const std::string weight = non_finite_weight(trainer_);
  if (!weight.empty())
    stop(base::Exit::not_finite,
         fmt::format("after step {}: weights are not finite, the first {}; they were not saved", step, weight));
}

void Loop::stop_if_copies_differ(std::int64_t step) {
  const auto every = config_.run.check_copies_every;
  if (every == 0 || step % every != 0) return;
  const grid::Activity::Scope scope(world_.activity(), grid::Work::output);
  const std::string fault = trainer_.differing_copies();
  if (!fault.empty()) stop(base::Exit::mismatch, fmt::format("after step {}: {}", step, fault));
}

Turn Loop::next_turn() {
  std::int64_t busy = writer_.busy();
  const Turn turn = turns_.next({&busy, 1});
  try_to_save([&] {
    if (writer_.advance(busy)) announce_save();
  });
  return turn;
}

/// A save in mid-run that fails has been reported; the next one tries again, and the last one decides how the run ends.
void Loop::try_to_save(const std::function<void()>& work) {
  try {
    work();
  } catch (const grid::Agreed& failed) {
    print(fmt::format("warning: {}; the run goes on\n", world_.said(failed)));
  }
}

void Loop::announce_save() {
  turns_.expect_save(writer_.seconds());
  print(fmt::format("saved step {} in {:.1f} s: {}/{}\n", writer_.saved_step(), writer_.seconds(),
                    checkpoints_of(config_.run.directory), store::step_folder_name(writer_.saved_step())));
}

void Loop::save(std::int64_t step) {
  stop_if_weights_not_finite(step);
  const double begin = base::now();
  try_to_save([&] { writer_.save(step); });
  turns_.save_took(base::now() - begin);
}

bool Loop::saves_at(std::int64_t step) const {
  const auto every = config_.checkpoint.every;
  return every > 0 && step % every == 0 && step < config_.run.steps;  // the end saves by itself
}

void Loop::save_and_wait(std::int64_t step) {
  if (writer_.saved_step() == step) return;
  writer_.save(step);
  writer_.finish();
  announce_save();
}

Ended Loop::run() {
  world_.agree([&] {
    if (folder_) metrics_.emplace(folder_->file("metrics.csv"), start_.origin.step);
  });
  StepRecord record{.step = start_.origin.step, .result = {}, .validation_loss = {}};
  Turn turn = next_turn();
  while (record.step < config_.run.steps && !ends(turn)) {
    tracer_.begin(record.step + 1);
    record = step(record.step);
    if (record.result.finite()) turn = next_turn();
    if (record.result.finite() && !ends(turn)) evaluate(record);
    log(record);
    stop_if_not_finite(record);
    stop_if_copies_differ(record.step);
    if (!ends(turn) && (turn == Turn::save_and_go_on || saves_at(record.step))) save(record.step);
    if (turn == Turn::save_and_go_on) turns_.honoured();
    if (record.validation_loss && !ends(turn)) turn = next_turn();
    end_trace();
  }
  return end(turn, record);
}

Ended Loop::end(Turn turn, const StepRecord& last) {
  const bool done = last.step >= config_.run.steps;
  if (steps_here_ == 0) print(fmt::format("step {} of {}: nothing was left to do\n", last.step, config_.run.steps));
  private_last_step_ = private_memory();
  std::optional<grid::Agreed> not_saved;  // what else there is to write is still written
  if (steps_here_ > 0) stop_if_weights_not_finite(last.step);
  try {
    if (last.step > 0 && steps_here_ > 0) save_and_wait(last.step);
  } catch (const grid::Agreed& failed) {
    not_saved = failed;
  }
  if (steps_here_ > 0) summarize(last);
  if (done && !config_.run.final_weights.empty()) trainer_.save(config_.run.final_weights);
  if (not_saved) throw *not_saved;
  if (done) {
    world_.agree([&] {
      if (lost_) throw *lost_;
    });
    return {base::Exit::done, "done"};
  }
  const std::string why = last.step > 0 ? fmt::format("saved at step {} of {}: {}", last.step, config_.run.steps, turns_.reason())
                                        : "ended before the first step: " + turns_.reason();
  print(why + "\n");
  return {turn == Turn::save_and_requeue ? base::Exit::saved : base::Exit::done, why};
}

void Loop::summarize(const StepRecord& last) {
  const ProcessFacts process{base::now() - machine_.begin, trainer_.private_before_arenas(), private_first_step_,
                             private_last_step_, private_memory()};
  const RankTable table = gather_ranks(trainer_, process, world_);
  if (!folder_) return;
  keep_going([&] { folder_->write("summary.json", summary_json(table, config_, start_.shape, last)); });
  folder_->print("\n" + end_table(table, trainer_.schedule(), start_));
}

}  // namespace trireme::train
