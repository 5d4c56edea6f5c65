#include "view/run_charts.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace trireme::view {
namespace {

std::vector<Point> points_of(const Series& series, double unit) {
  std::vector<Point> points;
  for (const auto& [step, value] : series) points.push_back({static_cast<double>(step), value / unit});
  return points;
}

/// A column of metrics.csv as curves of a chart.
struct Quantity {
  const char *column, *name;
  bool smoothed = false, dashed = false;
  double unit = 1;
};

/// With one run a colour a quantity, else a colour a run.
std::vector<Curve> curves_of(const std::vector<ChartedRun>& runs, const std::vector<Quantity>& quantities) {
  std::vector<Curve> curves;
  for (std::size_t r = 0; r < runs.size(); ++r)
    for (std::size_t q = 0; q < quantities.size(); ++q) {
      const auto& [column, name, smoothed, dashed, unit] = quantities[q];
      std::string words = runs.size() == 1 ? name : quantities.size() == 1 ? runs[r].name : runs[r].name + ", " + name;
      curves.push_back(
          {std::move(words), points_of(runs[r].metrics.at(column), unit), smoothed, runs.size() == 1 ? q : r, dashed});
    }
  return curves;
}

/// Each yardstick once.
std::vector<Level> levels_of(const std::vector<ChartedRun>& runs) {
  std::vector<Level> levels;
  for (const ChartedRun& run : runs) {
    const auto same = [&](const Level& level) { return level.y == run.yardstick->y && level.name == run.yardstick->name; };
    if (run.yardstick && std::none_of(levels.begin(), levels.end(), same)) levels.push_back(*run.yardstick);
  }
  return levels;
}

}  // namespace

std::vector<Tolerance> charted_columns() {
  std::vector<Tolerance> columns;
  for (const char* name : {"loss", "validation_loss", "tokens_per_second", "grad_norm", "peak_memory_bytes"})
    columns.push_back({name, {}, {}, ""});
  return columns;
}

Level parse_entropy(const std::string& text, const std::string& path) {
  const auto json = base::json_object<nlohmann::json>(text, path);
  const auto name = json.find("name"), nats = json.find("nats");
  if (name == json.end() || !name->is_string()) base::refuse("{}: no text `name`", path);
  if (nats == json.end() || !nats->is_number()) base::refuse("{}: no number `nats`", path);
  return {name->get<std::string>(), nats->get<double>()};
}

std::vector<NamedChart> run_charts(const std::vector<ChartedRun>& runs) {
  const auto title = [&](const char* what) {
    return runs.size() == 1 ? fmt::format("{}: {}", runs[0].name, what) : fmt::format("{} runs: {}", runs.size(), what);
  };
  const auto chart = [&](const char* what, const char* unit, const std::vector<Quantity>& quantities) {
    return Chart{.title = title(what), .x_label = "step", .y_label = unit, .curves = curves_of(runs, quantities)};
  };
  Chart loss = chart("loss", "nats a token", {{"loss", "training", true}, {"validation_loss", "validation", false, true}});
  loss.levels = levels_of(runs);
  Chart speed = chart("speed", "tokens a second", {{"tokens_per_second", "tokens a second", true}});
  speed.from_zero = true;
  Chart norm = chart("norm of the gradient, before clipping", "norm", {{"grad_norm", "norm", true}});
  norm.logarithmic = true;
  constexpr double mebibyte = 1048576;
  Chart memory = chart("resident memory, the largest of the ranks", "MiB",
                       {{.column = "peak_memory_bytes", .name = "memory", .unit = mebibyte}});
  memory.from_zero = true;
  return {{"loss", loss}, {"tokens_per_second", speed}, {"gradient_norm", norm}, {"memory", memory}};
}

}  // namespace trireme::view
