// trireme plot RUN
#include <algorithm>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "command/arguments.h"
#include "command/commands.h"
#include "view/run_charts.h"

namespace trireme::command {
namespace {

namespace fs = std::filesystem;

view::Metrics read_metrics(const std::string& run) {
  const std::string path = run + "/metrics.csv";
  if (!fs::exists(path)) base::refuse("{}: no folder of a run: it holds no metrics.csv", run);
  std::string text = base::read_file(path);
  const auto whole = text.rfind('\n') + 1;  // 0 without any
  if (whole > 0 && whole < text.size()) {   // of a run that was killed, or is writing it now
    fmt::print("note: {}: the last row is half-written and left out\n", path);
    text.resize(whole);
  }
  return view::parse_metrics(text, path, view::charted_columns());
}

}  // namespace

int plot(int argc, char** argv) {
  std::string run;
  CLI::App app("Draws a run's loss, speed, gradient norm and memory into RUN/plots, an SVG file each.", "trireme plot");
  app.add_option("RUN", run, "the folder of a run, e.g. runs/novels")->required();
  const std::string help = parse(app, argc, argv);
  if (!help.empty()) {
    fmt::print("{}", help);
    return 0;
  }
  const view::Metrics metrics = read_metrics(run);
  const std::vector<view::NamedChart> all = view::run_charts(metrics, fs::canonical(run).filename().string());
  if (std::none_of(all.begin(), all.end(), [](const auto& named) { return has_points(named.chart); }))
    base::refuse("{}/metrics.csv: no quantity in it has a value that can be drawn", run);
  std::error_code ignored;  // then the files cannot be written
  fs::create_directories(run + "/plots", ignored);
  for (const auto& [name, chart] : all) {
    if (!has_points(chart)) {
      fmt::print("note: {}: no value that can be drawn{}\n", name, chart.logarithmic ? " on a logarithmic scale" : "");
      continue;
    }
    const std::string path = fmt::format("{}/plots/{}.svg", run, name);
    base::write_file_atomically(path, line_chart(chart));
    fmt::print("wrote {}\n", path);
  }
  return 0;
}

}  // namespace trireme::command
