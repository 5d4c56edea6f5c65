#include "run/saves.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "config/write.h"
#include "store/checkpoint_folder.h"

namespace trireme::run {
namespace {

/// Bytes a second a rank that are counted on until a save has been measured, for the end of the job's time: few.
constexpr double unmeasured_save_rate = 50e6;

CheckpointPlan plan(const config::Resolved& resolved, const Start& start, folder::RunFolder* folder) {
  const config::Config& config = resolved.config;
  CheckpointPlan plan{folder::checkpoints_of(config.run.directory),
                      write_config(resolved),
                      config.batch.global,
                      config.checkpoint.keep,
                      start.opened.data,
                      start.damaged};
  if (folder)
    plan.permit = [folder] {
      if (folder->look() == folder::Whereabouts::taken) base::fail("another run has begun in the folder of this one");
    };
  return plan;
}

}  // namespace

Saves::Saves(const config::Resolved& resolved, const Start& start, train::Trainer& trainer, Requests& requests,
             const Recorder& recorder, folder::RunFolder* folder)
    : config_(resolved.config),
      world_(trainer.grid().world()),
      requests_(requests),
      recorder_(recorder),
      writer_(trainer.state(), plan(resolved, start, folder), trainer.replica().device(), trainer.grid(),
              trainer.layout().memory[trainer.grid().at().pipeline][spec::MemoryClass::snapshot]) {
  if (start.resumes && start.origin.moments) writer_.set_saved_step(start.origin.step);
  requests_.expect_save(static_cast<double>(spec::checkpoint_bytes(config_.model)) / world_.size() / unmeasured_save_rate);
}

bool Saves::due(std::int64_t step) const {
  const auto every = config_.checkpoint.every;
  return every > 0 && step % every == 0 && step < config_.run.steps;
}

void Saves::attempt(const std::function<void()>& work) {
  try {
    work();
  } catch (const grid::Agreed& failed) {
    recorder_.note(fmt::format("warning: {}; the run goes on\n", world_.said(failed)));  // one rank has printed it
  }
}

void Saves::begin(std::int64_t step) {
  const double begin = base::now();
  attempt([&] { writer_.save(step); });
  requests_.save_took(base::now() - begin);
}

void Saves::advance(std::int64_t busy_ranks) {
  attempt([&] {
    if (writer_.advance(busy_ranks)) announce();
  });
}

void Saves::finish() {
  attempt([&] { writer_.finish(); });
}

void Saves::last(std::int64_t step) {
  finish();  // an earlier save that fails, as while the folder is moved, costs itself alone
  if (writer_.saved_step() == step) return;
  writer_.save(step);
  writer_.finish();
  announce();
}

void Saves::announce() {
  if (!writer_.warning().empty() && writer_.warning() != warned_) recorder_.print(warned_ = writer_.warning());
  requests_.expect_save(writer_.seconds());
  recorder_.print(fmt::format("saved step {} in {:.1f} s: {}/{}\n", writer_.saved_step(), writer_.seconds(), writer_.folder(),
                              store::step_folder_name(writer_.saved_step())));
}

}  // namespace trireme::run
