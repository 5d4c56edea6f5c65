// trireme plot RUN
#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "command/arguments.h"
#include "command/commands.h"
#include "view/comparison.h"
#include "view/line_chart.h"

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

std::vector<Drawing> drawings(const Metrics& metrics, const std::string& run) {
  const auto curve = [&](const char* name, const char* column, bool smoothed, double unit = 1) {
    return Curve{name, points_of(metrics.at(column), unit), smoothed};
  };
  const auto title = [&](const char* what) { return fmt::format("{}: {}", run, what); };
  constexpr double mebibyte = 1048576;
  return {{"loss",
           {title("loss"),
            "step",
            "nats a token",
            false,
            false,
            {curve("training", "loss", true), curve("validation", "validation_loss", false)}}},
          {"tokens_per_second",
           {title("speed"), "step", "tokens a second", false, true, {curve("tokens a second", "tokens_per_second", true)}}},
          {"gradient_norm",
           {title("norm of the gradient, before clipping"), "step", "norm", true, false, {curve("norm", "grad_norm", true)}}},
          {"memory",
           {title("resident memory, the largest of the ranks"),
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
  std::string text = base::read_file(path);
  const auto whole = text.rfind('\n') + 1;  // 0 without any
  if (whole > 0 && whole < text.size()) {   // of a run that was killed, or is writing it now
    fmt::print("note: {}: the last row is half-written and left out\n", path);
    text.resize(whole);
  }
  return parse_metrics(text, path, columns);
}

}  // namespace

int plot(int argc, char** argv) {
  std::string run;
  CLI::App app("Draws a run's loss, speed, gradient norm and memory into RUN/plots, an SVG file each.", "trireme plot");
  app.add_option("RUN", run, "the folder of a run, e.g. runs/novels")->required();
  const std::string help = parse(app, argc, argv);
  if (!help.empty()) return fmt::print("{}", help), 0;
  const Metrics metrics = read_metrics(run);
  const std::vector<Drawing> all = drawings(metrics, fs::canonical(run).filename().string());
  if (std::none_of(all.begin(), all.end(), [](const Drawing& drawing) { return has_points(drawing.chart); }))
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
