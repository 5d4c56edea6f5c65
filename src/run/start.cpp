#include "run/start.h"

#include <algorithm>
#include <filesystem>
#include <functional>

#include <fmt/format.h>

#include "base/file.h"
#include "base/output_file.h"
#include "base/process.h"
#include "base/text.h"
#include "base/units.h"
#include "folder/run_folder.h"
#include "grid/cores.h"
#include "kernels/device.h"
#include "layout/layout.h"
#include "run/records.h"
#include "run/resources.h"
#include "run/resume.h"
#include "store/checkpoint_folder.h"
#include "store/gpt2_config.h"
#include "store/gpt2_folder.h"

namespace trireme::run {
namespace {

/// Calls; what it refuses is told with the key and where that was given.
void with_key(const config::Resolved& resolved, const std::string& key, const std::function<void()>& open) {
  try {
    open();
  } catch (const base::Error& error) {
    throw base::Error(error.status(), fmt::format("{}: {}", shown(resolved, key), error.what()));
  }
}

/// Whether model.initial is a folder with a checkpoint, rather than with weights or a file of them. Refuses what is neither.
bool names_checkpoint(const config::Resolved& resolved) {
  const std::string& path = resolved.config.model.initial;
  bool checkpoint = false;
  with_key(resolved, "model.initial", [&] {
    if (!std::filesystem::exists(path)) base::refuse("{}: no such file or folder{}", path, base::looked_for(path));
    checkpoint = store::find_gpt2(path).empty();
    if (checkpoint && store::find_checkpoint_in(path).empty())
      base::refuse("{}: this folder holds neither weights (a .safetensors file) nor a checkpoint{}", path,
                   base::looked_for(path));
  });
  return checkpoint;
}

/// Of a new run: model.initial.
Origin open_initial(const config::Resolved& resolved, grid::World& world) {
  const std::string& path = resolved.config.model.initial;
  Origin origin;
  if (path.empty()) return origin;
  bool checkpoint = false;
  world.agree([&] {
    if (world.rank() == 0) checkpoint = names_checkpoint(resolved);
  });
  if (world.everyone().largest(checkpoint) > 0) origin.checkpoint = verified(world, path);
  world.agree([&] {
    if (origin.checkpoint)
      check_same_model(*origin.checkpoint, resolved);
    else
      with_key(resolved, "model.initial",
               [&] { origin.file.emplace(store::find_gpt2(path), spec::model_parameters(resolved.config.model)); });
  });
  return origin;
}

/// Whether the last row that a resumed run keeps in metrics.csv is of `step` and without a validation loss.
bool last_row_lacks_validation(grid::World& world, const std::string& directory, std::int64_t step) {
  const std::string path = directory + "/metrics.csv";
  bool lacks = false;
  world.agree([&] {
    if (world.rank() == 0 && std::filesystem::exists(path)) lacks = lacks_validation(base::read_file(path), step);
  });
  return world.everyone().largest(lacks) > 0;
}

/// Of a run that goes on: its newest checkpoint that verifies. Else of a new one.
void open_origin(Start& start, const config::Resolved& resolved, grid::World& world, bool weights_only) {
  Verified found = newest_verified(world, folder::checkpoints_of(resolved.config.run.directory));
  const std::unique_ptr<store::CheckpointReader>& checkpoint = found.reader;
  start.damaged = std::move(found.damaged);
  if (!checkpoint) {
    start.origin = open_initial(resolved, world);
    if (weights_only && world.rank() == 0) base::print_error("note: --weights-only: there is no checkpoint to go on from");
    return;
  }
  std::vector<std::string> changes;
  world.agree([&] {
    changes = check_resume(*checkpoint, resolved, start.opened.data, weights_only);
    if (!checkpoint->manifest().moments && !weights_only)
      base::refuse("{} holds no optimizer moments; --weights-only goes on from its parameters, with moments of zero",
                   checkpoint->folder());
  });
  start.resumed = fmt::format("resumed from step {}: {}{}\n", checkpoint->manifest().step, checkpoint->folder(),
                              weights_only ? ", parameters only" : "");
  for (const std::string& change : changes) start.resumed += "  changed since: " + change + "\n";
  start.resumes = true;
  start.owes_evaluation = resolved.config.run.evaluate_every > 0 && evaluation_was_due(*checkpoint) &&
                          last_row_lacks_validation(world, resolved.config.run.directory, checkpoint->manifest().step);
  start.origin.step = checkpoint->manifest().step;
  start.origin.moments = !weights_only;
  start.origin.checkpoint = std::move(found.reader);
}

/// Whether `file` is to lie right in `directory`, which is yet to be made.
bool lies_in_new_folder(const std::filesystem::path& file, const std::filesystem::path& directory) {
  const auto plain = [](const std::filesystem::path& path) { return std::filesystem::absolute(path).lexically_normal(); };
  return !std::filesystem::exists(directory) && plain(file).parent_path() == plain(directory / "x").parent_path();
}

void check_outputs(const config::Resolved& resolved, grid::World& world) {
  world.agree([&] {
    if (world.rank() != 0) return;
    const config::Run& run = resolved.config.run;
    folder::check_run_folder(run.directory, resolved.path);
    if (!run.final_weights.empty() && !lies_in_new_folder(run.final_weights, run.directory))
      base::check_output_file(shown(resolved, "run.final_weights"), run.final_weights, base::weights_file);
    store::check_gpt2_pair(run.final_weights, resolved.config.model);
  });
}

void check_memory(const Start& start, grid::World& world, const Limit& available, std::int64_t micro_batch) {
  world.agree([&] {
    const int stage = coordinates_of(start.layout.shape, world.rank()).pipeline;
    const double needed = static_cast<double>(start.layout.memory[stage].total());
    if (needed > available.value)
      base::refuse(
          "error: a rank of stage {} needs {}; {} has {} for each of its {} ranks ({}). Raise parallel.tensor or "
          "parallel.pipeline, {}or use more nodes; trireme check shows memory by class and stage",
          stage, base::bytes_text(needed), world.host(), base::bytes_text(available.value), world.node_size(), available.by,
          micro_batch > 1 ? "lower batch.micro, " : "");
  });
}

/// Whether rank 0's cores serve more threads than there are, by the ranks of its node that have the same ones.
bool shares_cores(const std::vector<grid::Place>& places, int threads) {
  if (places.empty()) return false;
  const auto same = std::count_if(places.begin(), places.end(), [&](const grid::Place& place) {
    return place.node == places[0].node && place.cores == places[0].cores;
  });
  return same * threads > std::ssize(grid::allowed_cores());
}

}  // namespace

bool is_done(const Start& start, const config::Run& run) {
  return start.resumes && start.origin.step >= run.steps && !start.owes_evaluation && run.final_weights.empty();
}

std::string done_text(const Start& start, const config::Run& run, bool evaluated) {
  const std::string& folder = start.origin.checkpoint->folder();
  std::string made;
  if (evaluated) made += fmt::format("  The evaluation that was due after step {} was made.\n", start.origin.step);
  if (!run.final_weights.empty()) made += fmt::format("  The weights were written to {}.\n", run.final_weights);
  return fmt::format(
      "{} was left to do: {} holds step {}, and run.steps = {} asks for {}.\n{}"
      "  To go on with this run, raise run.steps above {}.\n"
      "  To begin anew, choose another run.directory, or remove {}.\n",
      made.empty() ? "nothing" : "no step", folder, start.origin.step, run.steps,
      start.origin.step == run.steps ? "no more" : "fewer", made, start.origin.step, run.directory);
}

Start check_start(grid::World& world, const config::Resolved& resolved, bool weights_only) {
  const config::Config& config = resolved.config;
  Start start;
  const Threads threads = choose_threads(config, world);
  start.threads = threads.count;
  start.threads_by = threads.by;
  start.layout = layout::make_layout(config, world.size());
  const Limit available = memory_of_rank(world);
  check_memory(start, world, available, config.batch.micro);
  check_address_space(world, start.layout.memory[coordinates_of(start.layout.shape, world.rank()).pipeline].total(),
                      start.threads);
  start.available_bytes = -world.everyone().largest(-available.value);
  start.opened = open_sources(resolved, world);
  check_outputs(resolved, world);
  open_origin(start, resolved, world, weights_only);
  start.places = gather_places(world, start.layout.shape, train::make_device(config)->name());
  start.shares_cores = shares_cores(start.places, start.threads);
  world.agree([&] {
    if (config.placement.strict) refuse_split_tensor_groups(start.places, start.layout.shape);
  });
  return start;
}

}  // namespace trireme::run
