#include "run/run.h"

#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/units.h"
#include "config/write.h"
#include "grid/watchdog.h"
#include "run/crash_note.h"
#include "run/loop.h"
#include "run/machine.h"
#include "run/non_finite.h"
#include "run/report.h"
#include "store/checkpoint_folder.h"

namespace trireme::run {
namespace {

std::string status_text(base::Exit status, const std::string& why) { return fmt::format("{} {}", static_cast<int>(status), why); }

std::unique_ptr<RunFolder> open_folder(grid::World& world, const config::Resolved& resolved, const Start& start,
                                       const std::string& banner) {
  std::unique_ptr<RunFolder> folder;
  world.agree([&] {
    if (world.rank() != 0) return;
    const bool replaces = !start.resumes && std::filesystem::exists(resolved.config.run.directory + "/metrics.csv");
    folder = std::make_unique<RunFolder>(resolved.config.run.directory, start.resumes);
    if (replaces) folder->print("note: no checkpoint here: starts from step 0, and replaces what an earlier run recorded\n");
    for (const std::string& name : store::remove_partials(checkpoints_of(resolved.config.run.directory)))
      folder->print(fmt::format("removed what an unfinished save or removal left: {}\n", name));
    folder->write_status("running");
    folder->write("config.toml", fmt::format("# ran on {} ranks\n{}", world.size(), config::write_config(resolved)));
    folder->write("topology.tsv", grid::topology_tsv(start.places));
    folder->print(banner + start_block(resolved.config, start) + start.resumed);
  });
  return folder;
}

/// The products come first: they fault in what the libraries need, so that private memory grows by the model's alone afterwards.
double measure_peak(grid::World& world, const train::Backend& backend, const Start& start, RunFolder* folder) {
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

}  // namespace

base::Exit run_training(grid::World& world, const config::Resolved& resolved, const std::string& banner, const Signals& signals,
                        bool weights_only) {
  const double begin = base::now();
  return_large_blocks();
  if (stops_at_start(world, resolved.config.run.directory)) return base::Exit::done;
  Start start = check_start(world, resolved, weights_only);
  const auto folder = open_folder(world, resolved, start, banner);
  const grid::LastWords words([&resolved](base::Exit status, const std::string& why) {
    write_status_in(resolved.config.run.directory, status_text(status, why));
  });
  const CrashNote crash_note(resolved.config.run.directory + "/status", fmt::format("rank {} on {}", world.rank(), world.host()));
  const auto watchdog = start_watchdog(world, resolved.config.run, start);
  if (const double late = begin - signals.begin(); folder && late > 10)
    folder->print(fmt::format("MPI took {} to start; run.time_limit counts from before\n", base::time_text(late)));
  try {
    train::Backend backend = train::make_backend(resolved.config, start.layout, start.threads);
    Machine machine{.begin = begin, .peak_flops = measure_peak(world, backend, start, folder.get())};
    grid::Grid grid = train::make_grid(world, start.layout, backend);
    machine.private_memory = private_memory();
    train::Trainer trainer(resolved.config, start.layout, std::move(grid), std::move(backend), std::move(start.opened.sources),
                           state_source(start.origin));
    if (start.origin.file) refuse_non_finite_weights(trainer.replica(), resolved.config.model.initial);
    if (start.origin.checkpoint)
      refuse_non_finite_weights(trainer.replica(), start.origin.checkpoint->folder(),
                                "; to go on from an older checkpoint, move that folder elsewhere");
    const Ended ended = Loop(resolved, start, trainer, machine, signals, folder.get()).run();
    if (folder) folder->write_status(status_text(ended.status, ended.why));
    return ended.status;
  } catch (const grid::Agreed& end) {
    const std::string why = world.said(end);
    if (folder) folder->write_status(status_text(end.status, why));
    throw;
  } catch (const base::Error& error) {  // one rank alone: the others may be waiting for it
    world.abort(error.status(), error.what());
  } catch (const std::exception& error) {
    world.abort(base::Exit::failure, base::words_of(error));
  }
}

}  // namespace trireme::run
