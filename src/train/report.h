// What a run prints, as text: the start block, the line of a step, the table at the end.
#pragma once

#include <string>
#include <vector>

#include "config/reader.h"
#include "train/records.h"

namespace trireme::train {

/// The model, `parameters N`, the layout and its stage map; `trireme check` prints the same.
std::string layout_text(const config::Config& config, const spec::StageMap& map, const schedule::Schedule& schedule,
                        const grid::Shape& shape);
/// The FLOPs of a step by both conventions, named.
std::string flops_line(const config::Config& config);

/// What the start block says of a run beside layout and FLOPs.
struct StartFacts {
  std::vector<double> arena_bytes;  // the largest over the ranks, in the order of Trainer::arenas
  double predicted_bytes = 0;       // of the arenas together, the largest over the stages
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
