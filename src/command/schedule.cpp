#include "command/schedule.h"

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <algorithm>

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

namespace sched = trireme::schedule;

constexpr double forward_seconds = 1, backward_seconds = 2;  // of one microbatch through one chunk; their ratio is the paper's
constexpr double widest_picture = 400;                       // columns
constexpr std::int64_t most_actions = 10'000'000;            // on all stages: some hundred MB
constexpr std::int64_t most_drawn = 1'000'000;               // passes in an SVG, of some 150 bytes each

sched::Schedule schedule_of(const ScheduleOptions& options) {
  const auto kind = sched::kind_named(options.schedule);
  if (!kind) base::refuse("parallel.schedule = \"{}\": expected one of {}", options.schedule, sched::kind_names());
  if (options.micro_batch < 1 || options.global_batch < 1 || options.global_batch % options.micro_batch != 0)
    base::refuse("batch.global = {} is no positive multiple of batch.micro = {}", options.global_batch, options.micro_batch);
  const std::int64_t microbatches = options.global_batch / options.micro_batch;
  for (const std::int64_t value : {options.pipeline, options.chunks, microbatches})
    if (value > most_actions / 2)
      base::refuse("{} is too many for a schedule to be shown: at most {} passes on all stages", value, most_actions);
  if (options.pipeline > 0 && options.chunks > 0 && options.pipeline * options.chunks > most_actions / 2 / microbatches)
    base::refuse(
        "parallel.pipeline = {}, parallel.virtual = {} and {} microbatches: at most {} passes on all stages can be shown",
        options.pipeline, options.chunks, microbatches, most_actions);
  return sched::make_schedule(*kind, static_cast<int>(options.pipeline), static_cast<int>(options.chunks),
                              static_cast<int>(microbatches));
}

/// Messages of a step: each is one send.
std::int64_t count_sends(const sched::Messages& messages) {
  std::int64_t sends = 0;
  for (const auto& groups : messages.before)
    for (const auto& group : groups)
      for (const auto& transfer : group) sends += transfer.is_send;
  return sends;
}

template <class Item>
std::string joined(const std::vector<Item>& items, const char* separator) {
  std::string text;
  for (const Item& item : items) text += fmt::format("{}{}", text.empty() ? "" : separator, item);
  return text;
}

}  // namespace

std::string schedule_report(const ScheduleOptions& options) {
  const sched::Schedule schedule = schedule_of(options);
  if (const std::int64_t passes = 2 * options.pipeline * options.chunks * schedule.microbatches;
      !options.svg.empty() && passes > most_drawn)
    base::refuse("--svg: {} passes on all stages: at most {} are drawn", passes, most_drawn);
  check_outputs({}, {options.svg});
  const sched::Messages messages = sched::derive_messages(schedule);
  if (const auto broken = sched::violations(schedule, messages); !broken.empty())
    base::fail("this schedule cannot run:\n  {}", joined(broken, "\n  "));
  const sched::Timing timing = sched::simulate(schedule, forward_seconds, backward_seconds);
  if (!options.svg.empty())
    base::write_file_atomically(options.svg, sched::svg(sched::timeline(schedule, timing, "forward passes")));

  std::string text = fmt::format("{}: p = {} stages, v = {}, m = {} microbatches\n", options.schedule, schedule.stages,
                                 schedule.chunks, schedule.microbatches);
  text +=
      fmt::format("digits are forward passes, letters backward passes, {} times as long\n", backward_seconds / forward_seconds);
  text += timing.seconds <= widest_picture
              ? sched::picture(schedule, timing)
              : fmt::format("(a picture of {} columns, too wide: --svg FILE draws it)\n", timing.seconds);
  if (options.list) text += sched::listing(schedule);
  text += fmt::format("bubble            {:.4f} of the work simulated, {:.4f} by the formula (p-1)/(v m)\n",
                      sched::bubble(schedule, timing, forward_seconds, backward_seconds), sched::bubble_formula(schedule));
  text += fmt::format("peak activations  {} by stage, each of one microbatch and chunk\n",
                      joined(sched::peak_activations(schedule), " "));
  text += fmt::format("messages          {} a step on {} channels\n", count_sends(messages), messages.channels.size());
  text += "proven            every pass once, messages in order, no deadlock\n";
  return text;
}

namespace {

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

}  // namespace

int schedule(int argc, char** argv) {
  std::vector<std::string> values;
  ScheduleOptions options;
  CLI::App app("Shows a pipeline schedule: picture, bubble, activations alive, messages. Nothing runs.", "trireme schedule");
  app.add_option("key=value", values,
                 "parallel.schedule (gpipe, 1f1b, interleaved), parallel.pipeline, parallel.virtual, batch.global, batch.micro; "
                 "m = B / b, as with d = 1");
  app.add_option("--svg", options.svg, "draw it into this file");
  app.add_flag("--list", options.list, "the actions of each stage in order, too");
  const std::string help = parse(app, argc, argv);
  if (!help.empty()) return fmt::print("{}", help), 0;
  refuse_others(values);
  const config::Config config = config::read_config("command line", "", values, config::Missing::allow).config;
  options.schedule = config.parallel.schedule;
  options.pipeline = config.parallel.pipeline;
  options.chunks = config.parallel.chunks;
  options.global_batch = config.batch.global;
  options.micro_batch = config.batch.micro;
  fmt::print("{}", schedule_report(options));
  return 0;
}

}  // namespace trireme::command
