// The curves of a run: loss, speed, gradient norm, memory.
#pragma once

#include <string>
#include <vector>

#include "view/comparison.h"
#include "view/line_chart.h"

namespace trireme::view {

struct NamedChart {
  std::string name;  // of its file, without ending
  Chart chart;
};

/// The columns of metrics.csv that run_charts reads.
std::vector<Tolerance> charted_columns();

std::vector<NamedChart> run_charts(const Metrics& metrics, const std::string& run);

}  // namespace trireme::view
