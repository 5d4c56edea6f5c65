#include "view/run_charts.h"

#include <fmt/format.h>

namespace trireme::view {
namespace {

std::vector<Point> points_of(const Series& series, double unit = 1) {
  std::vector<Point> points;
  for (const auto& [step, value] : series) points.push_back({static_cast<double>(step), value / unit});
  return points;
}

}  // namespace

std::vector<Tolerance> charted_columns() {
  std::vector<Tolerance> columns;
  for (const char* name : {"loss", "validation_loss", "tokens_per_second", "grad_norm", "peak_memory_bytes"})
    columns.push_back({name, {}, {}, ""});
  return columns;
}

std::vector<NamedChart> run_charts(const Metrics& metrics, const std::string& run) {
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

}  // namespace trireme::view
