// trireme schedule [key=value ...] [--svg F] [--list]: a pipeline schedule as text and as a drawing; nothing runs.
#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "command/arguments.h"
#include "command/commands.h"
#include "command/outputs.h"
#include "config/check.h"
#include "config/reader.h"
#include "schedule/messages.h"
#include "schedule/proofs.h"
#include "view/schedule_text.h"
#include "view/timeline.h"

namespace trireme::command {
namespace {

constexpr std::int64_t most_drawn = 1'000'000;  // passes in an SVG, which pools those that are too narrow

struct Arguments {
  std::string input, svg;           // input: a TOML file; empty: none
  std::vector<std::string> values;  // key=value
  int ranks = 0;                    // 0: as many as make d = 1
  int columns = 0;                  // 0: v
  bool list = false;
  std::string help;  // the text to print instead, when asked for
};

Arguments read_arguments(int argc, char** argv) {
  Arguments arguments;
  std::vector<std::string> words;
  CLI::App app("Shows a pipeline schedule: its picture, time, bubble, activations that are kept, and messages. It runs nothing.",
               "trireme schedule");
  app.add_option(
      "INPUT|key=value", words,
      "an input file (TOML) whose schedule is shown, and values that win over it or do without it: parallel.schedule (" +
          schedule::kind_names() + "), parallel.pipeline, parallel.virtual, batch.global, batch.micro");
  app.add_option("--ranks", arguments.ranks,
                 "the number of ranks of the run: d = ranks / (t p), m = B / (b d). Default: d = 1, m = B / b")
      ->check(CLI::Range(1, 1 << 24));
  app.add_option("--svg", arguments.svg, "draw the schedule into this .svg file");
  app.add_option("--columns", arguments.columns, "characters for the forward pass of a whole stage, a multiple of v. Default: v")
      ->check(CLI::Range(1, 100));
  app.add_flag("--list", arguments.list, "also list the actions of each stage in their order");
  arguments.help = parse(app, argc, argv);
  for (const std::string& word : words) {
    if (word.find('=') != std::string::npos)
      arguments.values.push_back(word);
    else if (arguments.input.empty())
      arguments.input = word;
    else
      base::refuse("error: {}: a second input file beside {}; values are written key=value", word, arguments.input);
  }
  return arguments;
}

/// A schedule depends on these keys alone; another one on the command line would be ignored.
void refuse_others(const std::vector<std::string>& values) {
  const std::vector<std::string> keys = {"parallel.schedule", "parallel.pipeline", "parallel.virtual", "batch.global",
                                         "batch.micro"};
  for (const std::string& value : values)
    if (std::find(keys.begin(), keys.end(), value.substr(0, value.find('='))) == keys.end())
      base::refuse("error: {}: a schedule depends on {} only", value, base::alternatives(keys));
}

config::Config read_config(const Arguments& arguments) {
  refuse_others(arguments.values);
  refuse_second_values(arguments.values);
  const std::string& input = arguments.input;
  const config::Config config =
      config::read_config(input.empty() ? "command line" : input, input.empty() ? "" : base::read_file(input), arguments.values,
                          config::Missing::allow, config::Unbuilt::allow)
          .config;
  if (config.batch.global == 0) base::refuse("error: batch.global is required: m = batch.global / (batch.micro d) microbatches");
  return config;
}

/// m = B / (b d); without `ranks` (0) as with d = 1.
std::int64_t microbatches_of(const config::Parallel& parallel, const config::Batch& batch, std::int64_t ranks) {
  if (ranks % (parallel.tensor * parallel.pipeline) != 0)
    base::refuse("--ranks={}: no multiple of t p = {} x {}", ranks, parallel.tensor, parallel.pipeline);
  const std::int64_t data = ranks == 0 ? 1 : ranks / (parallel.tensor * parallel.pipeline);
  if (batch.global % (batch.micro * data) != 0)
    base::refuse("batch.global = {} is no positive multiple of b d = {} x {}", batch.global, batch.micro, data);
  return batch.global / (batch.micro * data);
}

schedule::Schedule schedule_of(const config::Parallel& parallel, std::int64_t microbatches) {
  const std::int64_t chunks = parallel.pipeline * parallel.chunks;
  if (chunks > config::most_chunks)
    base::refuse("parallel.pipeline = {} and parallel.virtual = {} make {} chunks of the model; at most {} can be planned",
                 parallel.pipeline, parallel.chunks, chunks, config::most_chunks);
  if (const std::int64_t most = config::most_microbatches(chunks); microbatches > most)
    base::refuse("batch.global makes {}; with p v = {} at most {} can be planned",
                 base::counted(microbatches, "microbatch", "es"), chunks, most);
  return schedule::make_schedule(schedule::require_kind(parallel.schedule), static_cast<int>(parallel.pipeline),
                                 static_cast<int>(parallel.chunks), static_cast<int>(microbatches));
}

std::int64_t count_passes(const schedule::Schedule& schedule) {
  std::int64_t passes = 0;
  for (const auto& actions : schedule.actions)
    passes += std::count_if(actions.begin(), actions.end(), [](const auto& action) { return facts(action.act).is_pass; });
  return passes;
}

schedule::Messages proven_messages(const schedule::Schedule& schedule) {
  schedule::Messages messages = derive_messages(schedule);
  if (const auto broken = violations(schedule, messages); !broken.empty())
    base::fail("this schedule cannot run:\n  {}", fmt::join(broken, "\n  "));
  return messages;
}

}  // namespace

int schedule(int argc, char** argv) {
  const Arguments arguments = read_arguments(argc, argv);
  if (!arguments.help.empty()) {
    fmt::print("{}", arguments.help);
    return 0;
  }
  const config::Config config = read_config(arguments);
  const schedule::Schedule shown = schedule_of(config.parallel, microbatches_of(config.parallel, config.batch, arguments.ranks));
  const int columns = arguments.columns == 0 ? shown.chunks : arguments.columns;
  if (columns % shown.chunks != 0) base::refuse("--columns={}: no multiple of parallel.virtual = {}", columns, shown.chunks);
  const std::string& svg = arguments.svg;
  if (const std::int64_t passes = count_passes(shown); !svg.empty() && passes > most_drawn)
    base::refuse("--svg: {} passes on all stages: at most {} are drawn", passes, most_drawn);
  check_outputs({arguments.input}, {{svg, base::drawing}});
  const schedule::Messages messages = proven_messages(shown);
  const schedule::Timing timing = simulate(shown, stage_costs(shown));
  fmt::print("{}", view::schedule_report({shown, timing, columns}, messages, arguments.list));
  if (!svg.empty()) write_output(svg, view::svg(view::timeline(shown, timing, view::unit_of_time)));
  return 0;
}

}  // namespace trireme::command
