// trireme plot RUN... [--output FOLDER]
#include <algorithm>
#include <filesystem>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/file.h"
#include "base/new_folders.h"
#include "base/text.h"
#include "command/arguments.h"
#include "command/commands.h"
#include "command/outputs.h"
#include "folder/links.h"
#include "view/run_charts.h"

namespace trireme::command {
namespace {

namespace fs = std::filesystem;

view::Metrics read_metrics(const std::string& run) {
  const std::string path = run + "/metrics.csv";
  if (!fs::exists(path)) base::refuse("{}: no folder of a run: it holds no metrics.csv{}", run, base::looked_for(run));
  std::string text = base::read_file(path);
  const auto whole = text.rfind('\n') + 1;  // 0 without any
  if (whole > 0 && whole < text.size()) {   // of a run that was killed, or is writing it now
    fmt::print("note: {}: the last row is half-written and left out\n", path);
    text.resize(whole);
  }
  view::MetricsText read = view::read_metrics(text, path, view::charted_columns());
  for (const std::string& fault : read.faults) fmt::print("note: {}; this row is left out\n", fault);
  return std::move(read.metrics);
}

/// Nothing where the run did not know it, or its file is damaged.
std::optional<view::Level> read_entropy(const std::string& run) {
  const std::string path = run + "/entropy.json";
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return {};
  try {
    return view::parse_entropy(base::read_file(path), path);
  } catch (const base::Error& error) {
    fmt::print("note: {}\nThe loss is drawn without the entropy of its text.\n", error.what());
    return {};
  }
}

/// The folders' names, or the paths as given where names are equal.
std::vector<std::string> names_of(const std::vector<std::string>& runs) {
  std::vector<std::string> names;
  for (const std::string& run : runs) names.push_back(fs::canonical(run).filename().string());
  for (std::size_t k = 0; k < runs.size(); ++k)
    for (std::size_t i = 0; i < k; ++i) {
      if (fs::equivalent(runs[k], runs[i])) base::refuse("{} and {} are the same run", runs[i], runs[k]);
      if (names[i] == names[k]) return runs;
    }
  return names;
}

/// The folder that the user named, else one in that of the first run, which must be that run's own.
std::string output_folder(const std::vector<std::string>& runs, const std::vector<std::string>& names, const std::string& given) {
  if (!given.empty()) return given;
  folder::own_linked_folder(runs[0], "plots");
  if (runs.size() == 1) return runs[0] + "/plots";
  std::string name;
  for (const std::string& word : names) name += (name.empty() ? "" : "+") + fs::path(word).filename().string();
  folder::own_linked_folder(runs[0] + "/plots", name);
  return runs[0] + "/plots/" + name;
}

std::string path_of(const view::NamedChart& named, const std::string& folder) {
  return fmt::format("{}/{}.svg", folder, named.name);
}

/// All of them, before any is written.
void check_files(const std::vector<view::NamedChart>& charts, const std::string& folder) {
  for (const view::NamedChart& named : charts) {
    const std::string path = path_of(named, folder);
    if (has_points(named.chart)) base::check_output_file(path, path, base::drawing);
  }
}

void write(const std::vector<view::NamedChart>& charts, const std::string& folder) {
  base::refuse_unexpanded(folder);
  const base::NewFolders made(folder);
  check_files(charts, folder);
  for (const view::NamedChart& named : charts) {
    if (has_points(named.chart))
      write_output(path_of(named, folder), line_chart(named.chart));
    else
      fmt::print("note: {}: no value that can be drawn{}\n", named.name,
                 named.chart.logarithmic ? " on a logarithmic scale" : "");
  }
}

}  // namespace

int plot(int argc, char** argv) {
  std::vector<std::string> runs;
  std::string output;
  CLI::App app(
      "Draws loss, speed, gradient norm and memory over the steps, an SVG file each. Several runs are drawn over each other.",
      "trireme plot");
  app.add_option("RUN", runs, "the folder of a run, such as runs/novels")->required();
  app.add_option(
      "--output", output,
      "the folder for the files, which is made if needed. Default: RUN/plots; for several runs a folder in that of the first");
  const std::string help = parse(app, argc, argv);
  if (!help.empty()) {
    fmt::print("{}", help);
    return 0;
  }
  std::vector<view::ChartedRun> charted;
  for (const std::string& run : runs) charted.push_back({"", read_metrics(run), read_entropy(run)});
  const std::vector<std::string> names = names_of(runs);
  for (std::size_t k = 0; k < runs.size(); ++k) charted[k].name = names[k];
  const std::vector<view::NamedChart> charts = view::run_charts(charted);
  if (std::none_of(charts.begin(), charts.end(), [](const auto& named) { return has_points(named.chart); }))
    base::refuse("{}: no quantity in metrics.csv has a value that can be drawn", fmt::join(runs, ", "));
  write(charts, output_folder(runs, names, output));
  return 0;
}

}  // namespace trireme::command
