// trireme check INPUT [key=value ...] --ranks N [--json]: what a run would be, without MPI and without a device.
#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "base/file.h"
#include "base/units.h"
#include "command/arguments.h"
#include "command/commands.h"
#include "config/check.h"
#include "config/keys.h"
#include "config/reader.h"
#include "layout/layout.h"
#include "run/report.h"
#include "run/sources.h"
#include "schedule/timing.h"
#include "spec/flops.h"
#include "spec/traffic.h"

namespace trireme::command {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::string input;
  std::vector<std::string> overrides;
  int ranks = 0;
  bool json = false;
  std::string help;  // the text to print instead, when asked for
};

Arguments read_arguments(int argc, char** argv) {
  Arguments arguments;
  CLI::App app(
      "Checks an input file as train would, and says what the run would be: parameters, stage map, memory a rank, FLOPs, bubble, "
      "checkpoint, traffic. Needs no MPI and no device; nothing runs.",
      "trireme check");
  app.add_option("INPUT", arguments.input, "the input file (TOML)")->required();
  app.add_option("key=value", arguments.overrides, "values that override the file's, as for train");
  app.add_option("--ranks", arguments.ranks, "ranks that the run would have; d = ranks / (t p)")->required();
  app.add_flag("--json", arguments.json, "one JSON object instead of text");
  arguments.help = parse(app, argc, argv);
  return arguments;
}

/// The token file of the run, where it is here.
struct Tokens {
  std::optional<std::int64_t> samples;  // N
  std::string remark;                   // why they are not known
};

/// All that is printed. `config` is as written; memory, traffic and schedule are those of `built`, where values that this version
/// does not have are replaced.
struct Facts {
  const config::Resolved& resolved;
  const config::Config& config;
  config::Config built;
  int ranks;
  layout::Layout layout;
  std::vector<spec::StageTraffic> traffic;  // [p]
  Tokens tokens;

  std::int64_t samples() const { return config.run.steps * config.batch.global; }
  std::int64_t total_tokens() const { return samples() * config.model.sequence; }
  double epochs() const { return static_cast<double>(samples()) / static_cast<double>(*tokens.samples); }
  double step_flops(bool hardware) const {
    const double batch = static_cast<double>(config.batch.global);
    return hardware ? spec::hardware_flops(config.model, config.parallel, batch) : spec::model_flops(config.model, batch);
  }
  double run_flops(bool hardware) const { return step_flops(hardware) * static_cast<double>(config.run.steps); }
};

/// A file that is here is checked as train does, one that is not here is none of this command's business.
Tokens look_for_tokens(const config::Config& config) {
  if (config.data.synthetic) return {};
  if (!std::filesystem::exists(config.data.tokens + ".idx"))
    return {{}, fmt::format("data.tokens = \"{0}\": no {0}.idx here, so the number of epochs is not known", config.data.tokens)};
  return {run::open_tokens("data.tokens", config.data.tokens, config, config.batch.global)->samples(), ""};
}

Facts gather(const config::Resolved& resolved, int ranks) {
  const config::Config built = config::without_unbuilt(resolved);
  layout::Layout layout = layout::make_layout(built, ranks);
  std::vector<spec::StageTraffic> traffic;
  for (int stage = 0; stage < layout.shape.pipeline; ++stage)
    traffic.push_back(spec::stage_traffic(built, layout.stage_map, stage, layout.shape.data));
  return {resolved, resolved.config, built, ranks, std::move(layout), std::move(traffic), look_for_tokens(built)};
}

// ---- text

std::string remarks(const Facts& facts) {
  std::string text;
  for (const std::string& name : facts.resolved.unbuilt) {
    config::Config written = facts.config, built = facts.built;
    const config::Key& key = *config::find_key(name);
    text += fmt::format("not in this version: {} = {} ({}); memory and traffic are those with {}\n", name,
                        config::toml_text(key.slot(written)), key.feature, config::toml_text(key.slot(built)));
  }
  const std::string& recompute = facts.config.parallel.recompute;
  if (recompute != "none" && recompute != "full")
    text +=
        fmt::format("remark: parallel.recompute = \"{}\" is not counted in the hardware FLOPs, only \"full\" is\n", recompute);
  if (!facts.tokens.remark.empty()) text += fmt::format("remark: {}\n", facts.tokens.remark);
  return text;
}

std::string memory_text(const Facts& facts) {
  const auto line = [](const std::string& stage, const spec::StageMemory& memory) {
    std::string cells;
    for (const std::int64_t bytes : memory.bytes) cells += fmt::format("{:>14}", base::bytes_text(static_cast<double>(bytes)));
    return fmt::format("  {:<7}{}{:>14}\n", stage, cells, base::bytes_text(static_cast<double>(memory.total())));
  };
  std::string text = "memory a rank, by stage:\n  stage  ";
  for (const std::string_view name : spec::memory_classes) text += fmt::format("{:>14}", name);
  text += fmt::format("{:>14}\n", "total");
  for (std::size_t stage = 0; stage < facts.layout.memory.size(); ++stage)
    text += line(std::to_string(stage), facts.layout.memory[stage]);
  const int largest = facts.layout.costliest_stage();
  const std::int64_t total = facts.layout.memory[largest].total();
  return text + fmt::format("  largest: stage {}, {} = {} bytes a rank, without the program and the MPI library\n", largest,
                            base::bytes_text(static_cast<double>(total)), total);
}

std::string traffic_text(const Facts& facts) {
  std::string text = "sent by a rank in a training step at most, by stage (losses, norms and evaluations apart):\n  stage  ";
  for (const auto& [name, bytes] : facts.traffic.front().kinds()) text += fmt::format("{:>16}", name);
  text += "\n";
  for (std::size_t stage = 0; stage < facts.traffic.size(); ++stage) {
    text += fmt::format("  {:<7}", stage);
    for (const auto& [name, bytes] : facts.traffic[stage].kinds())
      text += fmt::format("{:>16}", base::bytes_text(static_cast<double>(bytes)));
    text += "\n";
  }
  return text;
}

std::string run_text(const Facts& facts) {
  const std::string epochs =
      facts.tokens.samples ? fmt::format(", {:.4g} epochs of {} samples", facts.epochs(), *facts.tokens.samples) : "";
  return fmt::format("run: {} steps, {} samples, {} tokens{}\nFLOPs of the run: model {}FLOP, hardware {}FLOP\n",
                     facts.config.run.steps, facts.samples(), facts.total_tokens(), epochs,
                     base::rate_text(facts.run_flops(false)), base::rate_text(facts.run_flops(true)));
}

std::string text_of(const Facts& facts) {
  const std::int64_t checkpoint = spec::checkpoint_bytes(facts.config.model);
  std::string text = fmt::format("configuration: {} on {} ranks; results would go to {}\n", facts.resolved.path, facts.ranks,
                                 facts.config.run.directory);
  text += remarks(facts);
  text += run::layout_text(facts.built, facts.layout);
  text += memory_text(facts);
  text += run::flops_line(facts.config);
  text += run_text(facts);
  text += fmt::format("bubble by formula: (p-1)/(v m) = {:.4f} of the time of forward + backward (equal stages, m >= p)\n",
                      bubble_formula(facts.layout.training.schedule));
  text += fmt::format("checkpoint: {} = {} bytes (parameters and two moments, fp32)\n",
                      base::bytes_text(static_cast<double>(checkpoint)), checkpoint);
  return text + traffic_text(facts);
}

// ---- JSON

Json configuration_json(const config::Config& written) {
  config::Config config = written;
  Json json;
  for (const config::Key& key : config::all_keys())
    std::visit([&](const auto* value) { json[key.section][key.name] = *value; }, key.slot(config));
  return json;
}

Json stage_json(const Facts& facts, int stage) {
  const spec::StageMemory& memory = facts.layout.memory[stage];
  Json json{{"stage", stage}, {"layers", Json::array()}};
  for (const spec::Chunk& chunk : facts.layout.stage_map.of_stage[stage]) json["layers"].push_back(chunk.layers);
  for (std::size_t k = 0; k < spec::memory_classes.size(); ++k)
    json["memory_bytes"][std::string(spec::memory_classes[k])] = memory.bytes[k];
  json["total_memory_bytes"] = memory.total();
  for (const auto& [name, bytes] : facts.traffic[stage].kinds()) json["sent_bytes_per_step"][std::string(name)] = bytes;
  return json;
}

Json json_of(const Facts& facts) {
  Json json{{"input", facts.resolved.path},
            {"ranks", facts.ranks},
            {"configuration", configuration_json(facts.config)},
            {"keys_not_in_this_version", facts.resolved.unbuilt},
            {"parameters", spec::parameter_count(facts.config.model)},
            {"tensor_ranks", facts.layout.shape.tensor},
            {"pipeline_stages", facts.layout.shape.pipeline},
            {"data_ranks", facts.layout.shape.data},
            {"microbatches", facts.layout.training.schedule.microbatches},
            {"schedule", schedule::name_of(facts.layout.training.schedule.kind)},
            {"stages", Json::array()},
            {"largest_stage", facts.layout.costliest_stage()},
            {"model_flops_per_step", facts.step_flops(false)},
            {"hardware_flops_per_step", facts.step_flops(true)},
            {"model_flops_of_run", facts.run_flops(false)},
            {"hardware_flops_of_run", facts.run_flops(true)},
            {"samples_of_run", facts.samples()},
            {"tokens_of_run", facts.total_tokens()},
            {"epochs_of_run", facts.tokens.samples ? Json(facts.epochs()) : Json()},
            {"bubble_fraction", bubble_formula(facts.layout.training.schedule)},
            {"checkpoint_bytes", spec::checkpoint_bytes(facts.config.model)}};
  for (int stage = 0; stage < facts.layout.stage_map.stages; ++stage) json["stages"].push_back(stage_json(facts, stage));
  return json;
}

}  // namespace

int check(int argc, char** argv) {
  const Arguments arguments = read_arguments(argc, argv);
  if (!arguments.help.empty()) {
    fmt::print("{}", arguments.help);
    return 0;
  }
  const config::Resolved resolved = config::read_config(arguments.input, base::read_file(arguments.input), arguments.overrides,
                                                        config::Missing::refuse, config::Unbuilt::allow);
  config::check_layout(resolved, arguments.ranks);
  const Facts facts = gather(resolved, arguments.ranks);
  fmt::print("{}", arguments.json ? json_of(facts).dump(1) + "\n" : text_of(facts));
  return 0;
}

}  // namespace trireme::command
