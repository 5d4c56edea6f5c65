// The curves of runs: loss, speed, gradient norm, memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "view/comparison.h"
#include "view/line_chart.h"

namespace trireme::view {

struct NamedChart {
  std::string name;  // of its file, without ending
  Chart chart;
};

struct ChartedRun {
  std::string name;
  Metrics metrics;                 // charted_columns() of its metrics.csv
  std::optional<Level> yardstick;  // what its losses are held against, where that is known
};

/// The columns of metrics.csv that run_charts reads.
std::vector<Tolerance> charted_columns();

/// What entropy.json of a run, at `path`, says. Throws base::Error (bad_input) for a text that is none. Pure.
Level parse_entropy(const std::string& text, const std::string& path);

/// A chart a quantity. Of several runs, each has the curves of all, in a colour a run.
std::vector<NamedChart> run_charts(const std::vector<ChartedRun>& runs);

}  // namespace trireme::view
