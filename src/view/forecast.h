// What a run would be, as `trireme check` shows it: parameters, stage map, memory, FLOPs, bubble, checkpoint, traffic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/reader.h"
#include "layout/layout.h"
#include "spec/traffic.h"

namespace trireme::view {

/// The token file of the run, where it is here.
struct Tokens {
  std::optional<std::int64_t> samples;  // N
  std::string remark;                   // why they are not known
};

/// All that is printed. `config` is as written; layout and traffic are those of `built`, where values that this version does not
/// have are replaced.
struct Forecast {
  const config::Resolved& resolved;
  const config::Config& config;
  config::Config built;
  int ranks;
  layout::Layout layout;
  std::vector<spec::StageTraffic> traffic;  // [p]
  Tokens tokens;

  std::int64_t samples() const;  // of the run
  std::int64_t total_tokens() const;
  double epochs() const;  // where tokens.samples is known
  double step_flops(bool hardware) const;
  double run_flops(bool hardware) const;
};

std::string forecast_text(const Forecast& forecast);

/// One JSON object, ending in a line feed.
std::string forecast_json(const Forecast& forecast);

}  // namespace trireme::view
