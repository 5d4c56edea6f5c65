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
#include "config/reader.h"
#include "schedule/messages.h"
#include "schedule/proofs.h"
#include "view/schedule_text.h"
#include "view/timeline.h"

namespace trireme::command {
namespace {

constexpr std::int64_t most_actions = 10'000'000;  // on all stages: some hundred MB
constexpr std::int64_t most_drawn = 1'000'000;     // passes in an SVG, of some 150 bytes each

/// A schedule depends on these keys alone; another one would be ignored.
void refuse_others(const std::vector<std::string>& values) {
  const std::vector<std::string> keys = {"parallel.schedule", "parallel.pipeline", "parallel.virtual", "batch.global",
                                         "batch.micro"};
  bool has_batch = false;
  for (const std::string& value : values) {
    const std::string key = value.substr(0, value.find('='));
    has_batch |= key == "batch.global";
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      base::refuse("error: {}: a schedule depends on {} only", value, base::alternatives(keys));
  }
  if (!has_batch) base::refuse("error: batch.global is required: m = batch.global / batch.micro microbatches");
}

/// With d = 1, m = B / b.
schedule::Schedule schedule_of(const config::Parallel& parallel, const config::Batch& batch) {
  if (batch.global % batch.micro != 0)
    base::refuse("batch.global = {} is no positive multiple of batch.micro = {}", batch.global, batch.micro);
  const std::int64_t microbatches = batch.global / batch.micro;
  for (const std::int64_t value : {parallel.pipeline, parallel.chunks, microbatches})
    if (value > most_actions / 2)
      base::refuse("{} is too many for a schedule to be shown: at most {} passes on all stages", value, most_actions);
  if (parallel.pipeline * parallel.chunks > most_actions / 2 / microbatches)
    base::refuse(
        "parallel.pipeline = {}, parallel.virtual = {} and {} microbatches: at most {} passes on all stages can be shown",
        parallel.pipeline, parallel.chunks, microbatches, most_actions);
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
  std::vector<std::string> values;
  std::string svg;
  bool list = false;
  CLI::App app("Shows a pipeline schedule: picture, bubble, activations alive, messages. Nothing runs.", "trireme schedule");
  app.add_option("key=value", values,
                 "parallel.schedule (" + schedule::kind_names() +
                     "), parallel.pipeline, parallel.virtual, batch.global, batch.micro; m = B / b, as with d = 1");
  app.add_option("--svg", svg, "draw it into this file");
  app.add_flag("--list", list, "the actions of each stage in order, too");
  const std::string help = parse(app, argc, argv);
  if (!help.empty()) {
    fmt::print("{}", help);
    return 0;
  }
  refuse_others(values);
  const config::Config config = config::read_config("command line", "", values, config::Missing::allow).config;
  const schedule::Schedule shown = schedule_of(config.parallel, config.batch);
  if (const std::int64_t passes = count_passes(shown); !svg.empty() && passes > most_drawn)
    base::refuse("--svg: {} passes on all stages: at most {} are drawn", passes, most_drawn);
  check_outputs({}, {svg});
  const schedule::Messages messages = proven_messages(shown);
  const schedule::Timing timing = simulate(shown);
  if (!svg.empty()) base::write_file_atomically(svg, view::svg(view::timeline(shown, timing, "forward passes")));
  fmt::print("{}", view::schedule_report(shown, messages, timing, list));
  return 0;
}

}  // namespace trireme::command
