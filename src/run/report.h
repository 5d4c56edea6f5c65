// What a run prints, as text: the start block, the line of a step, the table at the end.
#pragma once

#include <string>
#include <vector>

#include "config/reader.h"
#include "run/records.h"
#include "run/start.h"

namespace trireme::run {

/// All that is known of a run before it takes memory: layout, stage map, predicted memory against what there is, FLOPs.
std::string start_block(const config::Config& config, const Start& start);

/// `step 100/5000  loss 3.2147 ...`; `peak_flops` a rank, as measured, or 0: no share of it is shown; `seconds_left` from the
/// pace so far.
std::string step_line(const StepRecord& record, std::int64_t steps, double peak_flops, double seconds_left);

/// Where the time of the run went: min, mean, max over ranks; the bubble by formula and measured; the slowest rank.
std::string end_table(const RankTable& table, const Start& start);

}  // namespace trireme::run
