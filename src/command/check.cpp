// trireme check INPUT [key=value ...] --ranks N [--json]: what a run would be, without MPI and without a device.
#include "config/check.h"

#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file.h"
#include "command/arguments.h"
#include "command/commands.h"
#include "config/reader.h"
#include "layout/layout.h"
#include "run/sources.h"
#include "view/forecast.h"

namespace trireme::command {
namespace {

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
      "Checks an input file as train does, and says what the run would be: its stages, parameters, memory of a rank, FLOPs, "
      "bubble, checkpoint and traffic. It needs neither MPI nor a GPU, and runs nothing.",
      "trireme check");
  app.add_option("INPUT", arguments.input, "the input file (TOML)")->required();
  app.add_option("key=value", arguments.overrides, "values that win over those of the file, such as run.steps=20");
  app.add_option("--ranks", arguments.ranks, "the number of ranks of the run; d = ranks / (t p)")->required();
  app.add_flag("--json", arguments.json, "print one JSON object instead of text");
  arguments.help = parse(app, argc, argv);
  refuse_second_values(arguments.overrides);
  return arguments;
}

/// A file that is here is checked as train does, one that is not here is none of this command's business.
view::Tokens look_for_tokens(const config::Resolved& resolved) {
  const config::Config& config = resolved.config;
  if (config.data.synthetic) return {};
  if (!std::filesystem::exists(config.data.tokens + ".idx"))
    return {{}, fmt::format("data.tokens = \"{0}\": no {0}.idx here, so the number of epochs is not known", config.data.tokens)};
  return {run::open_tokens(run::training_keys, resolved)->samples(), ""};
}

view::Forecast gather(const config::Resolved& resolved, int ranks) {
  const config::Config built = config::without_unbuilt(resolved);
  layout::Layout layout = layout::make_layout(built, ranks);
  std::vector<spec::StageTraffic> traffic;
  for (int stage = 0; stage < layout.shape.pipeline; ++stage)
    traffic.push_back(spec::stage_traffic(built, layout.stage_map, stage, layout.shape.data));
  return {resolved, resolved.config, built, ranks, std::move(layout), std::move(traffic), look_for_tokens(resolved)};
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
  const view::Forecast forecast = gather(resolved, arguments.ranks);
  fmt::print("{}", arguments.json ? forecast_json(forecast) : forecast_text(forecast));
  return 0;
}

}  // namespace trireme::command
