// What a run prints, as text: the start block, the line of a step, the table at the end.
#pragma once

#include <string>
#include <vector>

#include "config/reader.h"
#include "train/records.h"

namespace trireme::train {

/// Parameters, memory, batch, schedule, stage map, FLOPs: what the start block says of the model under its layout.
struct StartFacts {
  std::vector<double> arena_bytes;  // the largest over the ranks, in the order of Trainer::arenas
  double available_bytes = 0;       // of the node's memory, a rank, the smallest
  double peak_flops = 0;            // a rank: matrix products, measured at the start, the slowest
  int threads = 1;
};
std::string start_block(const config::Config& config, const Trainer& trainer, const grid::Shape& shape, const StartFacts& facts);

/// `step 100/5000  loss 3.2147 ...`; `peak_flops` a rank, as measured; `seconds_left` from the pace so far.
std::string step_line(const StepRecord& record, std::int64_t steps, double peak_flops, double seconds_left);

/// Where the time of the run went: min, mean, max over ranks; the bubble by formula and measured; the slowest rank.
std::string end_table(const std::vector<RankColumn>& columns, const std::vector<std::vector<double>>& values,
                      const schedule::Schedule& schedule, double step_seconds, const std::vector<std::string>& hosts);

}  // namespace trireme::train
