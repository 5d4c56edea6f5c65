// trireme trace FILE.h5|RUN [--summary] [--svg F] [--perfetto F] [--ascii] [--ranks R] [--time T]
#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "command/arguments.h"
#include "command/commands.h"
#include "command/outputs.h"
#include "view/trace_pictures.h"
#include "view/trace_summary.h"

namespace trireme::command {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string input, svg, perfetto, ranks, time;
  bool summary = false, ascii = false;
  int columns = 120;
  std::string help;  // the text to print instead, when asked for
};

Arguments read_arguments(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Shows where the time of one traced step went. Without options it prints the summary.", "trireme trace");
  app.add_option(
         "FILE.h5|RUN", arguments.input,
         "a file that a run with trace.steps wrote, RUN/traces/step-....h5, or the folder of the run: then its last traced step")
      ->required();
  app.add_flag("--summary", arguments.summary, "print the time by kind, the bubble, the waits and the slowest rank");
  CLI::Option* const draws = app.add_flag("--ascii", arguments.ascii, "draw it in characters, one row for each rank");
  app.add_option("--columns", arguments.columns, "the width of --ascii in characters")
      ->needs(draws)
      ->check(CLI::Range(10, 10000))
      ->capture_default_str();
  app.add_option("--svg", arguments.svg, "draw it into this .svg file, one row for each rank");
  app.add_option("--ranks", arguments.ranks, "the ranks that --svg and --ascii show, such as 0-3,8. Default: all");
  app.add_option(
      "--time", arguments.time,
      "the part of the step that --svg and --ascii show, in milliseconds from its start, such as 12.5-20. Default: all");
  app.add_option("--perfetto", arguments.perfetto, "write this .json file for ui.perfetto.dev or chrome://tracing");
  arguments.help = parse(app, argc, argv);
  if (!(arguments.ranks + arguments.time).empty() && !arguments.ascii && arguments.svg.empty())
    base::refuse("error: trireme trace: --ranks and --time choose what --svg FILE or --ascii shows: give one of these too");
  return arguments;
}

/// `input`, or the trace of the last step in the run's folder `input`.
std::string find_trace(const std::string& input) {
  std::error_code error;
  if (!fs::is_directory(input, error)) return input;
  std::string last;
  for (fs::directory_iterator entry(fs::path(input) / "traces", error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    // Numbers of more than eight digits are longer names.
    if (name.starts_with("step-") && name.ends_with(".h5") && std::pair(name.size(), name) > std::pair(last.size(), last))
      last = name;
  }
  if (last.empty())
    base::refuse("{}: there is no trace in its folder traces; a run writes one for each step that trace.steps names", input);
  return (fs::path(input) / "traces" / last).string();
}

}  // namespace

int trace(int argc, char** argv) {
  const Arguments arguments = read_arguments(argc, argv);
  if (!arguments.help.empty()) {
    fmt::print("{}", arguments.help);
    return 0;
  }
  const auto& [input, svg, perfetto, ranks, time, summary, ascii, columns, help] = arguments;
  const std::string file = find_trace(input);
  check_outputs({file}, {{svg, base::drawing}, {perfetto, base::perfetto_trace}});
  const store::Trace trace = store::read_trace(file);
  const view::Part part = view::part_of(trace, ranks, time);
  if (file != input) fmt::print("{}\n", file);
  if (summary || (!ascii && svg.empty() && perfetto.empty())) fmt::print("{}", view::trace_summary(trace));
  if (ascii) fmt::print("{}", view::ascii_picture(trace, columns, part));
  if (!svg.empty()) write_output(svg, view::svg(view::timeline_of(trace, part)));
  if (!perfetto.empty()) write_output(perfetto, view::perfetto_json(trace));
  return 0;
}

}  // namespace trireme::command
