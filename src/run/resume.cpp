#include "run/resume.h"

#include <filesystem>
#include <sstream>

#include <fmt/format.h>

#include "base/process.h"
#include "config/keys.h"
#include "run/data_record.h"
#include "run/seen_by_all.h"
#include "store/checkpoint_folder.h"

namespace trireme::run {
namespace {

using store::CheckpointReader;
using store::Quantity;

/// A reader of the folder if it verifies, else null and, on rank 0, `faults`.
std::unique_ptr<CheckpointReader> try_verified(grid::World& world, const std::string& folder, std::string& faults) {
  std::unique_ptr<CheckpointReader> reader;
  std::string mine;
  try {
    reader = std::make_unique<CheckpointReader>(folder);
    const std::size_t ranks = static_cast<std::size_t>(world.size()), files = reader->manifest().files.size();
    for (std::size_t i = static_cast<std::size_t>(world.rank()); i < files; i += ranks)
      for (const std::string& fault : reader->verify_file(i)) mine += fault + "\n";
  } catch (const base::Error& error) {
    mine = std::string(error.what()) + "\n";
  }
  for (const std::string& text : world.everyone().gather(mine))
    if (faults.find(text) == std::string::npos) faults += text;  // a broken manifest is everybody's fault
  return world.everyone().largest(mine.empty() ? 0 : 1) > 0 ? nullptr : std::move(reader);
}

/// The configuration that a checkpoint was written with; the keys that its text has.
config::Resolved configuration_of(const CheckpointReader& checkpoint) {
  return config::read_config(checkpoint.folder() + ": config", checkpoint.manifest().config, {}, config::Missing::allow,
                             config::Unbuilt::allow);
}

struct Change {
  const config::Key* key;
  std::string before, now;
};

/// Keys whose value differs, of those that the checkpoint's configuration was given.
std::vector<Change> changes(const CheckpointReader& checkpoint, const config::Resolved& resolved) {
  config::Resolved before = configuration_of(checkpoint);
  config::Config now = resolved.config;
  std::vector<Change> found;
  for (const config::Key& key : config::all_keys()) {
    if (before.origins.at(key.full_name()) == "default") continue;
    std::string old = config::toml_text(key.slot(before.config)), current = config::toml_text(key.slot(now));
    if (old != current) found.push_back({&key, std::move(old), std::move(current)});
  }
  return found;
}

bool is_shape(const config::Key& key) { return key.section == "model" && key.fixed; }

[[noreturn]] void refuse(const std::string& folder, const std::vector<std::string>& lines, const char* cure) {
  base::refuse("{} does not fit the configuration:\n  {}\n{}", folder, fmt::join(lines, "\n  "), cure);
}

std::string line(const Change& change) {
  return fmt::format("{}: {} in the checkpoint, {} now", change.key->full_name(), change.before, change.now);
}

/// Of a key that may change.
std::string effect(const Change& change) {
  return fmt::format("{}: {} -> {}{}", change.key->full_name(), change.before, change.now,
                     change.key->beginning ? ", which has no effect: a run that goes on does not read this key" : "");
}

/// What has changed in the data, if the configuration still names some; refuses as check_resume() says.
std::vector<std::string> data_changes(const CheckpointReader& checkpoint, const config::Data& names, const store::DataRecord& now,
                                      bool weights_only) {
  const store::DataRecord& before = checkpoint.manifest().data;
  std::vector<std::string> lines;
  if (now.training && !before.training)
    lines.push_back("not compared: the training data; this checkpoint does not tell what it was trained on");
  if (now.training && before.training && now.training != before.training) {
    const std::vector<std::string> found = differences(*before.training, *now.training);
    if (!weights_only)
      base::refuse(
          "{} was trained on other data than data.tokens = \"{}\" names now:\n  {}\n"
          "A run goes on with the data that it began with. To train on this data, choose another run.directory, for example "
          "run.directory={}. To go on from the weights of this checkpoint with this data, add --weights-only",
          checkpoint.folder(), names.tokens, fmt::join(found, "\n  "),
          (std::filesystem::path("runs") / std::filesystem::path(names.tokens).filename()).string());
    lines.push_back(fmt::format("data.tokens names other data: {}", fmt::join(found, "; ")));
  }
  if (now.validation && before.validation && now.validation != before.validation)
    lines.push_back(fmt::format("data.validation names other data, and validation losses from here on are of that: {}",
                                fmt::join(differences(*before.validation, *now.validation), "; ")));
  return lines;
}

}  // namespace

Verified newest_verified(grid::World& world, const std::string& folder) {
  std::string list, newest;  // as rank 0 sees it: all must try the same, a name a line
  world.agree([&] {
    if (world.rank() != 0) return;
    for (const std::string& path : store::list_checkpoints(folder)) {
      const std::string name = std::filesystem::path(path).filename().string();
      list += name + "\n";
      if (newest.empty() && std::filesystem::exists(path + "/manifest.json")) newest = name + "/manifest.json";
    }
  });
  world.everyone().broadcast(list);
  world.everyone().broadcast(newest);
  if (!newest.empty()) refuse_unless_seen_by_all(world, folder, newest);
  Verified found;
  std::istringstream names(list);
  for (std::string name, faults; std::getline(names, name); faults.clear()) {
    found.reader = try_verified(world, folder + "/" + name, faults);
    if (found.reader) return found;
    if (world.rank() == 0) base::print_error("warning: passed over a damaged checkpoint: " + faults.substr(0, faults.size() - 1));
    found.damaged.push_back(name);
  }
  if (!found.damaged.empty())
    world.agree([&] {
      throw base::Error(
          base::Exit::mismatch,
          fmt::format("{}: no checkpoint in it verifies, and a new start would lose them; nothing was changed. "
                      "trireme checkpoint verify names what is damaged. Restore one, or choose another run.directory",
                      folder));
    });
  return found;
}

std::unique_ptr<CheckpointReader> verified(grid::World& world, const std::string& path) {
  std::string folder, faults;
  world.agree([&] {
    if (world.rank() == 0) folder = store::find_checkpoint(path);
  });
  world.everyone().broadcast(folder);
  refuse_unless_seen_by_all(world, folder, "manifest.json");
  auto reader = try_verified(world, folder, faults);
  world.everyone().broadcast(faults);
  world.agree([&] {
    if (!reader) throw base::Error(base::Exit::mismatch, faults.substr(0, faults.size() - 1));
  });
  return reader;
}

void check_same_model(const CheckpointReader& checkpoint, const config::Resolved& resolved) {
  std::vector<std::string> differences;
  for (const Change& change : changes(checkpoint, resolved))
    if (is_shape(*change.key)) differences.push_back(line(change));
  if (!differences.empty())
    refuse(checkpoint.folder(), differences, "A checkpoint's model cannot be changed: give these keys its values");
}

std::vector<std::string> check_resume(const CheckpointReader& checkpoint, const config::Resolved& resolved,
                                      const store::DataRecord& data, bool weights_only) {
  std::vector<std::string> fixed, free;
  for (const Change& change : changes(checkpoint, resolved)) {
    if (change.key->fixed)
      fixed.push_back(line(change));
    else
      free.push_back(effect(change));
  }
  if (!fixed.empty())
    refuse(checkpoint.folder(), fixed,
           "A run goes on with the same model and the same order of samples. Undo the change, or start in another run.directory; "
           "model.initial takes weights from a checkpoint of the same model");
  for (std::string& change : data_changes(checkpoint, resolved.config.data, data, weights_only))
    free.push_back(std::move(change));
  return free;
}

bool evaluation_was_due(const CheckpointReader& checkpoint) {
  return config::evaluates_after(configuration_of(checkpoint).config.run, checkpoint.manifest().step);
}

void load_state(const CheckpointReader& checkpoint, const train::TrainingState& state, bool moments, kernels::Device& device) {
  std::vector<float> values;
  const auto load = [&](Quantity quantity, kernels::View buffer) {
    for (const spec::LocalParameter& row : state.table.rows) {
      const spec::Parameter& parameter = state.table.parameter(row);
      values.assign(static_cast<std::size_t>(row.slice.elements()), 0.0f);
      checkpoint.read({quantity, parameter.name, parameter.shape, row.slice.start, row.slice.count, values.data()});
      device.upload(buffer.slice(row.offset, std::ssize(values)), values.data());
    }
  };
  load(Quantity::parameters, state.weights);
  if (!moments) return;
  load(Quantity::first_moment, state.first_moment);
  load(Quantity::second_moment, state.second_moment);
  const store::Manifest& manifest = checkpoint.manifest();
  if (const auto& scaling = manifest.scaling)
    state.loss_scale.set(
        {manifest.loss_scale, scaling->good_steps, scaling->overflows_left, scaling->skipped_at_lowest, scaling->skipped});
}

}  // namespace trireme::run
