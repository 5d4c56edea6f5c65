// trireme schedule: a pipeline schedule as text and as a drawing, without running anything.
#pragma once

#include <cstdint>
#include <string>

namespace trireme::command {

struct ScheduleOptions {
  std::string schedule = "1f1b";  // parallel.schedule
  std::int64_t pipeline = 1;      // p, parallel.pipeline
  std::int64_t chunks = 1;        // v, parallel.virtual
  std::int64_t global_batch = 0;  // B, batch.global; with d = 1, m = B / b
  std::int64_t micro_batch = 1;   // b, batch.micro
  std::string svg;                // file to write; empty: none
  bool list = false;              // the actions of each stage
};

/// What the command prints. Writes options.svg if asked. Throws base::Error: bad_input for values that do not fit together.
std::string schedule_report(const ScheduleOptions& options);

}  // namespace trireme::command
