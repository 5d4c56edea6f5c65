#include "run/run.h"

#include <memory>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/units.h"
#include "grid/watchdog.h"
#include "run/crash_note.h"
#include "run/loop.h"
#include "run/machine.h"
#include "run/non_finite.h"
#include "run/report.h"
#include "run/seen_by_all.h"

namespace trireme::run {
namespace {

/// Rank 0's folder, which all ranks have seen; nothing in it is changed before the first step.
std::unique_ptr<folder::RunFolder> hold_folder(grid::World& world, const std::string& directory) {
  std::unique_ptr<folder::RunFolder> folder;
  world.agree([&] {
    if (world.rank() == 0) folder = std::make_unique<folder::RunFolder>(directory);
  });
  refuse_unless_seen_by_all(world, directory, "lock");
  return folder;
}

/// The products come first: they fault in what the libraries need, so that private memory grows by the model's alone afterwards.
double measure_peak(grid::World& world, const train::Backend& backend, const Start& start, folder::RunFolder* folder) {
  world.everyone().barrier();
  const double peak = world.everyone().sum(measure_peak_flops(*backend.kernels, *backend.device)) / world.size();
  if (folder)
    folder->print(
        fmt::format("peak a rank: {}FLOP/s with {} thread{}: fp32 matrix products, measured now on all ranks at once\n\n",
                    base::rate_text(peak), start.threads, start.threads == 1 ? "" : "s"));
  return peak;
}

/// Every rank; null when run.watchdog is 0.
std::unique_ptr<grid::Watchdog> start_watchdog(grid::World& world, const config::Run& run, const Start& start) {
  if (run.watchdog == 0) return nullptr;
  const auto end = [&world](const std::string& what) { world.abort(base::Exit::unresponsive, "watchdog: " + what); };
  return std::make_unique<grid::Watchdog>(
      world, start.layout.shape,
      grid::Watchdog::Options{.limit = run.watchdog, .folder = run.directory + "/watchdog", .end = end});
}

/// Every rank: builds the trainer, and runs the steps.
Ended train(grid::World& world, const config::Resolved& resolved, const Signals& signals, double begin, Start& start,
            folder::RunFolder* folder) {
  train::Backend backend = train::make_backend(resolved.config, start.layout, start.threads);
  Machine machine{.begin = begin, .peak_flops = measure_peak(world, backend, start, folder)};
  grid::Grid grid = train::make_grid(world, start.layout, backend);
  machine.private_memory = private_memory();
  train::Trainer trainer(resolved.config, start.layout, std::move(grid), std::move(backend), std::move(start.opened.sources),
                         state_source(start.origin));
  if (start.origin.file) refuse_non_finite_weights(trainer.replica(), resolved.config.model.initial);
  if (start.origin.checkpoint)
    refuse_non_finite_weights(trainer.replica(), start.origin.checkpoint->folder(),
                              "; to go on from an older checkpoint, move that folder elsewhere");
  return Loop(resolved, start, trainer, machine, signals, folder).run();
}

/// Every rank: the start that has nothing to do says so, and leaves the run as it is.
base::Exit say_done(grid::World& world, const Start& start, const config::Run& run) {
  if (world.rank() == 0) {
    fmt::print("{}", done_text(start, run, false));
    folder::correct_status(run.directory, "done");
  }
  return base::Exit::done;
}

}  // namespace

base::Exit run_training(grid::World& world, const config::Resolved& resolved, const std::string& banner, const Signals& signals,
                        bool weights_only) {
  const double begin = base::now();
  const config::Run& run = resolved.config.run;
  return_large_blocks();
  if (stops_at_start(world, run.directory)) return base::Exit::done;
  Start start = check_start(world, resolved, weights_only);
  if (is_done(start, run)) return say_done(world, start, run);
  const auto folder = hold_folder(world, run.directory);
  const grid::LastWords words(
      [&run](base::Exit status, const std::string& why) { folder::write_end_in(run.directory, status, why); });
  const CrashNote crash_note(run.directory + "/status", fmt::format("rank {} on {}", world.rank(), world.host()));
  if (folder) folder->print(banner + start_block(resolved.config, start) + start.resumed);
  const auto watchdog = start_watchdog(world, run, start);
  if (const double late = begin - signals.begin(); folder && late > 10)
    folder->print(fmt::format("MPI took {} to start; run.time_limit counts from before\n", base::time_text(late)));
  try {
    const Ended ended = train(world, resolved, signals, begin, start, folder.get());
    if (folder) folder->end(ended.status, ended.why);
    return ended.status;
  } catch (const grid::Agreed& end) {
    const std::string why = world.said(end);
    if (folder) folder->end(end.status, why);
    throw;
  } catch (const base::Error& error) {  // one rank alone: the others may be waiting for it
    world.abort(error.status(), error.what());
  } catch (const std::exception& error) {
    world.abort(base::Exit::failure, base::words_of(error));
  }
}

}  // namespace trireme::run
