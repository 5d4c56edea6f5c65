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
  int chunks = 1;

  std::string name() const { return fmt::format("t={} p={} d={} v={} {}", tensor, pipeline, data, chunks, schedule); }
  std::vector<std::string> overrides() const {
    return {fmt::format("parallel.tensor={}", tensor), fmt::format("parallel.pipeline={}", pipeline),
            fmt::format("parallel.virtual={}", chunks), "parallel.schedule=" + schedule};
  }
};

/// Every layout of `ranks` ranks that the model and batch allow, with every schedule where there is a pipeline.
inline std::vector<Layout> layouts(const config::Config& config, int ranks) {
  std::vector<Layout> found;
  for (int t = 1; t <= ranks; ++t)
    for (int p = 1; t * p <= ranks; ++p) {
      const int d = ranks / (t * p);
      if (t * p * d != ranks || config.model.heads % t != 0 || p > config.model.layers) continue;
      if (config.batch.global % (config.batch.micro * d) != 0) continue;
      found.push_back({t, p, d, "1f1b"});
      if (p > 1) found.push_back({t, p, d, "gpipe"});
      const int most = static_cast<int>(config.model.layers) / p;  // chunks a stage
      if (p > 1 && most >= 2) found.push_back({t, p, d, "interleaved", 2});
      if (p > 1 && most > 2) found.push_back({t, p, d, "interleaved", most});
    }
  return found;
}

}  // namespace trireme::test
