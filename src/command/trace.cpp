// trireme trace FILE.h5 [--summary] [--svg F] [--perfetto F] [--ascii]
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file.h"
#include "command/arguments.h"
#include "command/commands.h"
#include "command/outputs.h"
#include "view/trace_pictures.h"
#include "view/trace_summary.h"

namespace trireme::command {
namespace {

void write(const std::string& path, const std::string& content) {
  base::write_file_atomically(path, content);
  fmt::print("wrote {}\n", path);
}

}  // namespace

int trace(int argc, char** argv) {
  std::string file, svg, perfetto;
  bool summary = false, ascii = false;
  int columns = 120;
  CLI::App app("Shows one traced step: where its time went. Without options: --summary.", "trireme trace");
  app.add_option("FILE.h5", file, "RUN/traces/step-....h5, written by a run with trace.steps")->required();
  app.add_flag("--summary", summary, "time by kind, bubble, waits, slowest rank");
  CLI::Option* const draws = app.add_flag("--ascii", ascii, "a row of characters a rank");
  app.add_option("--columns", columns, "width of --ascii")->needs(draws)->check(CLI::Range(10, 10000))->capture_default_str();
  app.add_option("--svg", svg, "draw a row a rank into this file");
  app.add_option("--perfetto", perfetto, "write this file for ui.perfetto.dev or chrome://tracing");
  const std::string help = parse(app, argc, argv);
  if (!help.empty()) {
    fmt::print("{}", help);
    return 0;
  }
  check_outputs({file}, {svg, perfetto});
  const store::Trace trace = store::read_trace(file);
  if (summary || (!ascii && svg.empty() && perfetto.empty())) fmt::print("{}", view::trace_summary(trace));
  if (ascii) fmt::print("{}", view::ascii_picture(trace, columns));
  if (!svg.empty()) write(svg, view::svg(view::timeline_of(trace)));
  if (!perfetto.empty()) write(perfetto, view::perfetto_json(trace));
  return 0;
}

}  // namespace trireme::command
