// trireme plot RUN
#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "command/arguments.h"
#include "command/commands.h"
#include "command/comparison.h"
#include "command/line_chart.h"

namespace trireme::command {
namespace {

namespace fs = std::filesystem;

std::vector<Point> points_of(const Series& series, double unit = 1) {
  std::vector<Point> points;
  for (const auto& [step, value] : series) points.push_back({static_cast<double>(step), value / unit});
  return points;
}

struct Drawing {
  std::string name;  // of the file
  Chart chart;
};

std::vector<Drawing> drawings(const Metrics& metrics) {
  const auto curve = [&](const char* name, const char* column, bool smoothed, double unit = 1) {
    return Curve{name, points_of(metrics.at(column), unit), smoothed};
  };
  constexpr double mebibyte = 1048576;
  return {{"loss",
           {"Loss",
            "step",
            "nats a token",
            false,
            false,
            {curve("training", "loss", true), curve("validation", "validation_loss", false)}}},
          {"tokens_per_second",
           {"Speed", "step", "tokens a second", false, true, {curve("tokens a second", "tokens_per_second", true)}}},
          {"gradient_norm",
           {"Norm of the gradient, before clipping", "step", "norm", true, false, {curve("norm", "grad_norm", true)}}},
          {"memory",
           {"Resident memory, the largest of the ranks",
            "step",
            "MiB",
            false,
            true,
            {curve("memory", "peak_memory_bytes", false, mebibyte)}}}};
}

Metrics read_metrics(const std::string& run) {
  const std::string path = run + "/metrics.csv";
  if (!fs::exists(path)) base::refuse("{}: no folder of a run: it holds no metrics.csv", run);
  std::vector<Tolerance> columns;
  for (const char* name : {"loss", "validation_loss", "tokens_per_second", "grad_norm", "peak_memory_bytes"})
    columns.push_back({name, {}, {}, ""});
  return parse_metrics(base::read_file(path), path, columns);
}

}  // namespace

int plot(int argc, char** argv) {
  std::string run;
  CLI::App app("Draws a run's loss, speed, gradient norm and memory into RUN/plots, an SVG file each.", "trireme plot");
  app.add_option("RUN", run, "the folder of a run, e.g. runs/novels")->required();
  const std::string help = parse(app, argc, argv);
  if (!help.empty()) return fmt::print("{}", help), 0;
  const Metrics metrics = read_metrics(run);
  std::error_code ignored;  // then the files cannot be written
  fs::create_directories(run + "/plots", ignored);
  for (const auto& [name, chart] : drawings(metrics)) {
    const std::string path = fmt::format("{}/plots/{}.svg", run, name);
    base::write_file_atomically(path, line_chart(chart));
    fmt::print("wrote {}\n", path);
  }
  return 0;
}

}  // namespace trireme::command
