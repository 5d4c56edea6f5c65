#include "run/loop.h"

#include <array>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/text.h"
#include "base/units.h"
#include "config/write.h"
#include "run/copies.h"
#include "run/machine.h"
#include "run/non_finite.h"
#include "run/weights_file.h"

namespace trireme::run {
namespace {

bool ends(Request request) { return request == Request::save_and_end || request == Request::save_and_requeue; }

}  // namespace

Loop::Loop(const config::Resolved& resolved, const Start& start, train::Trainer& trainer, const Machine& machine,
           const Signals& signals, folder::RunFolder* folder)
    : world_(trainer.grid().world()),
      resolved_(resolved),
      config_(resolved.config),
      start_(start),
      trainer_(trainer),
      folder_(folder),
      owes_evaluation_(start.owes_evaluation),
      requests_(world_, signals, config_.run.directory, config_.run.time_limit),
      recorder_(world_, config_, start, machine, folder),
      saves_(resolved, start, trainer, requests_, recorder_, folder),
      tracer_(world_, config_, trainer.layout(), config::write_config(resolved), config_.run.directory,
              trainer.replica().device()),
      watch_(start.opened.watch) {}

Ended Loop::run() {
  StepRecord record{.step = start_.origin.step, .result = {}, .validation_loss = {}};
  const bool has_work = record.step < config_.run.steps || owes_evaluation_;
  read_ahead(record.step);
  Request request = has_work ? next_request() : Request::none;
  if (has_work && !ends(request) && !any_fault_) {
    begin();
    if (owes_evaluation_) {
      make_up_evaluation(record);
      request = next_request();
    }
  }
  while (record.step < config_.run.steps && !ends(request) && !any_fault_) {
    tracer_.begin(record.step + 1);
    record = step(record.step);
    if (record.result.finite()) request = next_request();
    owes_evaluation_ = evaluates_after(config_.run, record.step);
    if (record.result.finite() && owes_evaluation_ && !ends(request)) {
      record.validation_loss = trainer_.evaluate();
      owes_evaluation_ = false;
      request = next_request();
    }
    record.peak_memory_bytes = peak_memory_;
    recorder_.log(record);
    stop_if_not_finite(record);
    stop_if_scale_exhausted(record);
    stop_if_copies_differ(record.step);
    if (!ends(request) && (request == Request::save || saves_.due(record.step))) save(record.step);
    if (request == Request::save) requests_.honoured();
    end_trace();
  }
  return end(request, record);
}

/// From here on the run's folder is this start's.
void Loop::begin() {
  world_.agree([&] {
    if (!folder_) return;
    const std::string head = fmt::format("# ran on {}, from step {}\n", base::counted(world_.size(), "rank"), start_.origin.step);
    folder_->begin({start_.resumes, head + config::write_config(resolved_), grid::topology_tsv(start_.places)});
  });
  recorder_.open();
}

StepRecord Loop::step(std::int64_t k) {
  world_.activity().set_step(k + 1);
  const double begin = base::now();
  const train::StepResult result = trainer_.step(k);
  read_ahead(k + 1);
  return recorder_.record(k + 1, result, base::now() - begin);
}

/// The tokens of step `step`, before it begins: a fault in them is agreed while the weights are those of the last good step.
void Loop::read_ahead(std::int64_t step) {
  if (step >= config_.run.steps) return;
  const grid::Activity::Scope scope(world_.activity(), grid::Work::data);
  try {
    trainer_.read_ahead(step);
  } catch (const base::Error& error) {
    fault_ = error;
  }
}

/// A folder that is no longer where it was ends the run, after a save to where it is now.
Request Loop::next_request() {
  std::array<std::int64_t, 4> shared = {saves_.busy(), peak_resident_memory(), fault_.has_value(),
                                        folder_ ? static_cast<std::int64_t>(folder_->look()) : 0};
  const Request request = requests_.next(shared);
  const auto [busy, peak_memory, any_fault, folder_is] = shared;
  peak_memory_ = peak_memory, any_fault_ = any_fault > 0, folder_is_ = static_cast<folder::Whereabouts>(folder_is);
  if (folder_is_ == folder::Whereabouts::taken) stop_if_taken();
  saves_.advance(busy);
  if (folder_is_ == folder::Whereabouts::in_place) return request;
  if (folder_) saves_.move_to(folder::checkpoints_of(folder_->path()));
  return Request::save_and_end;
}

/// Another run's files are in the folder: nothing is saved, recorded or traced any more.
void Loop::stop_if_taken() {
  world_.agree([&] {
    if (folder_ && folder_->look() == folder::Whereabouts::taken) base::fail("{}", folder_->how_taken());
  });
}

/// Of the step that was done last, into the row that it has in metrics.csv already.
void Loop::make_up_evaluation(StepRecord& record) {
  record.validation_loss = trainer_.evaluate();
  owes_evaluation_ = false;
  recorder_.complete(record);
  if (!std::isfinite(*record.validation_loss)) stop_if_not_finite(record);
}

void Loop::save(std::int64_t step) {
  stop_if_not_to_be_saved(step);
  saves_.begin(step);
}

/// A trace that cannot be written is said, and is all that is lost.
void Loop::end_trace() {
  try {
    tracer_.end();
  } catch (const base::Error& error) {
    base::print_error(fmt::format("warning: {}; the run goes on", error.what()));
  }
}

/// Every rank, with equal arguments.
void Loop::stop(base::Exit status, const std::string& why) {
  end_trace();
  world_.agree([&] { throw base::Error(status, why); });
  throw std::logic_error("agree throws on every rank what was thrown on one");
}

/// The tokens of the step after `step` cannot be had on some rank. What the steps before it reached is saved.
void Loop::stop_for_tokens(std::int64_t step) {
  std::string saved = "no step was taken";
  if (recorder_.steps() > 0) {
    stop_if_not_to_be_saved(step);
    try {
      saves_.last(step);
      saved = fmt::format("saved at step {}", step);
    } catch (const grid::Agreed&) {
      saved = fmt::format("step {} could not be saved", step);
    }
  }
  world_.agree([&] {
    if (fault_)
      throw base::Error(fault_->status(), fmt::format("tokens of step {}, rank {} on {}: {}; {}", step + 1, world_.rank(),
                                                      world_.host(), fault_->what(), saved));
  });
}

void Loop::stop_if_not_finite(const StepRecord& record) {
  const bool held_out = !record.validation_loss || std::isfinite(*record.validation_loss);
  if (record.result.finite() && held_out) return;
  saves_.finish();  // of an earlier step, which was good
  if (record.result.finite()) {
    stop_if_weights_not_finite(record.step);
    stop(base::Exit::not_finite, fmt::format("step {}: validation loss {}: not finite", record.step, *record.validation_loss));
  }
  stop(base::Exit::not_finite, fmt::format("step {}: loss {}, gradient norm {}: not finite; {}", record.step, record.result.loss,
                                           record.result.gradient_norm, first_non_finite(trainer_, record.step - 1)));
}

/// Skipping mends nothing where the smallest loss scale overflows again and again.
void Loop::stop_if_scale_exhausted(const StepRecord& record) {
  if (!trainer_.updater().loss_scale().exhausted()) return;
  saves_.finish();  // of an earlier step, which was good
  stop(base::Exit::not_finite,
       fmt::format(
           "step {}: {} steps in a row were skipped at the smallest loss scale, {}: their gradients are not finite in fp16 "
           "whatever the scale is; {}. Go on from the last checkpoint with precision.compute=bf16, which has the range "
           "of fp32, with a smaller optimizer.learning_rate or with a longer optimizer.warmup_steps",
           record.step, config_.precision.maximum_skips, base::real_text(*record.result.loss_scale),
           first_non_finite(trainer_, record.step - 1)));
}

/// The update of a finite gradient may overflow; a checkpoint of such weights would be worth nothing and push out good ones.
void Loop::stop_if_weights_not_finite(std::int64_t step) {
  const std::string weight = non_finite_weight(trainer_.replica());
  if (!weight.empty())
    stop(base::Exit::not_finite,
         fmt::format("after step {}: weights are not finite, the first {}; they were not saved", step, weight));
}

/// Right before a save.
void Loop::stop_if_not_to_be_saved(std::int64_t step) {
  stop_if_weights_not_finite(step);
  stop_if_tokens_changed(step);
}

/// A checkpoint tells what its weights were trained on: it must be that. The save before this one is finished first.
void Loop::stop_if_tokens_changed(std::int64_t step) {
  saves_.finish();
  const grid::Activity::Scope scope(world_.activity(), grid::Work::data);
  world_.agree([&] {
    try {
      watch_.require_same_tokens();
    } catch (const base::Error& error) {
      const std::string newest =
          saves_.newest() < 0 ? "no checkpoint" : fmt::format("the checkpoint of step {}", saves_.newest());
      throw base::Error(
          error.status(),
          fmt::format("{} (rank {} on {}). Step {} is not saved, because it may have learned from other tokens than "
                      "the run began with; what remains is {}. To go on from there, put the former file back. To "
                      "train on the other tokens, choose another run.directory",
                      error.what(), world_.rank(), world_.host(), step, newest));
    }
  });
  if (folder_) recorder_.print(watch_.found_by_a_later_start());
}

void Loop::stop_if_copies_differ(std::int64_t step) {
  const auto every = config_.run.check_copies_every;
  if (every == 0 || step % every != 0) return;
  const grid::Activity::Scope scope(world_.activity(), grid::Work::output);
  const std::string fault = differing_copies(trainer_.replica());
  if (!fault.empty()) stop(base::Exit::mismatch, fmt::format("after step {}: {}", step, fault));
}

/// What this start has to leave behind; a last save that fails is thrown once all else is written. The evaluation after the last
/// step of all comes after its save: who sent a signal may not wait for it.
void Loop::finish(StepRecord& last) {
  const bool all_done = last.step >= config_.run.steps;
  std::optional<grid::Agreed> not_saved;
  if (recorder_.steps() > 0) {
    stop_if_not_to_be_saved(last.step);
    try {
      saves_.last(last.step);
    } catch (const grid::Agreed& failed) {
      not_saved = failed;
    }
    stop_if_taken();  // a save takes a while
    if (owes_evaluation_ && all_done) make_up_evaluation(last);
    recorder_.summarize(trainer_, saves_.arena(), last);
  }
  if (all_done && !owes_evaluation_ && !config_.run.final_weights.empty())
    save_weights(config_.run.final_weights, config_.model, trainer_.layout().stage_map, trainer_.replica());
  if (not_saved) throw *not_saved;
}

/// What could be saved has been, where the folder is now.
void Loop::stop_if_moved(std::int64_t step) {
  if (folder_is_ == folder::Whereabouts::in_place) return;
  const std::string was = fmt::format("run.directory = \"{}\" was", config_.run.directory);
  const std::string end = fmt::format("during the run, which ended at step {} of {}", step, config_.run.steps);
  if (folder_is_ == folder::Whereabouts::removed)
    stop(base::Exit::failure, fmt::format("{} removed {}, and nothing of it is left", was, end));
  std::string place = folder_ ? folder_->path() : "";
  world_.everyone().broadcast(place);
  stop(base::Exit::failure,
       fmt::format("{0} moved to {1} {2}. To go on, start again with run.directory={1}, or move it back", was, place, end));
}

/// Of a run that was asked to end before all was done: what it reached.
std::string Loop::reached(const StepRecord& last) const {
  if (recorder_.steps() > 0) return fmt::format("saved at step {} of {}", last.step, config_.run.steps);
  if (last.step < config_.run.steps) return "ended before the first step";
  return fmt::format("ended before the evaluation that is due after step {}; the next start makes it", last.step);
}

Ended Loop::end(Request request, StepRecord& last) {
  recorder_.last_step_done();
  if (any_fault_ && !ends(request)) stop_for_tokens(last.step);
  if (folder_is_ != folder::Whereabouts::removed) finish(last);
  stop_if_moved(last.step);
  if (last.step >= config_.run.steps && !owes_evaluation_) {
    if (recorder_.steps() == 0) recorder_.print(done_text(start_, config_.run, start_.owes_evaluation));
    world_.agree([&] {
      const std::string lost = recorder_.lost();
      if (!lost.empty()) base::fail("all steps are done, but a result is not on disk: {}", lost);
    });
    return {base::Exit::done, "done"};
  }
  const std::string why = fmt::format("{}: {}", reached(last), requests_.reason());
  recorder_.print(why + "\n");
  return {request == Request::save_and_requeue ? base::Exit::saved : base::Exit::done, why};
}

}  // namespace trireme::run
