// The layouts that tests run over.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

#include "config/config.h"

namespace trireme::test {

struct Layout {
  int tensor, pipeline, data;
  std::string schedule;
  std::string name() const { return fmt::format("t={} p={} d={} {}", tensor, pipeline, data, schedule); }
};

/// Every layout of `ranks` ranks that the model and batch allow, with both schedules where there is a pipeline.
inline std::vector<Layout> layouts(const config::Config& config, int ranks) {
  std::vector<Layout> found;
  for (int t = 1; t <= ranks; ++t)
    for (int p = 1; t * p <= ranks; ++p) {
      const int d = ranks / (t * p);
      if (t * p * d != ranks || config.model.heads % t != 0 || p > config.model.layers) continue;
      if (config.batch.global % (config.batch.micro * d) != 0) continue;
      found.push_back({t, p, d, "1f1b"});
      if (p > 1) found.push_back({t, p, d, "gpipe"});
    }
  return found;
}

}  // namespace trireme::test
