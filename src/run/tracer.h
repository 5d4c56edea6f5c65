// Records what every rank does in the chosen steps (key trace.steps) and writes it to a file a step (store/trace_file.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/steps.h"
#include "grid/device_times.h"
#include "grid/world.h"
#include "layout/layout.h"
#include "store/trace_file.h"

namespace trireme::run {

/// Clocks of two ranks at one moment.
struct ClockReading {
  double at = 0;      // this rank's clock, seconds
  double offset = 0;  // rank 0's clock less this one's
  double error = 0;   // the offset is no further off: half the shortest round trip
};

/// Every rank: rank 0 exchanges messages with one rank after the other, and of each pair's rounds the quickest counts.
ClockReading read_clock(grid::World& world);

class Tracer {
 public:
  /// Every rank, with equal arguments; `layout` outlives this. Takes the memory for the events of a step and the evaluation after
  /// it. Files go to `folder`/traces, made by rank 0 when the first is written; `config_text`: the resolved configuration;
  /// `device`: whose work it is.
  Tracer(grid::World& world, const config::Config& config, const layout::Layout& layout, std::string config_text,
         std::string folder, kernels::Device& device);

  /// Every rank, around step `step` >= 1 and all that follows until the next: both do nothing if it is not to be traced. No event
  /// in between takes memory.
  void begin(std::int64_t step);
  /// Rank 0 writes the file, and throws base::Error when it cannot.
  void end();

  /// Of the file of a step; on rank 0.
  std::string path(std::int64_t step) const;

 private:
  std::vector<double> pack(const ClockReading& after, std::int64_t missed);
  void gather(std::vector<double> row);
  store::RankTrace unpack(int rank, const std::vector<double>& row) const;
  double flops(const grid::Event& event, int stage) const;

  grid::World& world_;
  config::Config config_;
  const layout::Layout& layout_;
  std::vector<config::StepRange> steps_;
  std::string folder_;
  store::TraceHeader header_;
  std::vector<std::string> hosts_;  // of every rank, on rank 0
  std::vector<grid::Event> events_;
  std::optional<grid::DeviceTimes> times_;  // where the device works while the host goes on
  bool tracing_ = false;
  ClockReading before_;
  double begin_ = 0;  // of the step, on this rank's clock
};

}  // namespace trireme::run
