// What follows from a configuration and a number of ranks before anything is made. Pure: no rank, no MPI call.
#pragma once

#include <vector>

#include "config/config.h"
#include "grid/grid.h"
#include "schedule/schedule.h"
#include "spec/memory.h"

namespace trireme::train {

/// t and p of the configuration, d = ranks / (t p).
grid::Shape grid_shape(const config::Config& config, int ranks);

/// The schedule in which `samples` of a step, or of an evaluation, go through the pipeline.
schedule::Schedule make_schedule(const config::Config& config, std::int64_t samples, int ranks);

/// The forward passes alone, for evaluation.
schedule::Schedule forward_only(const schedule::Schedule& schedule);

/// Buffers of each chunk of each stage, [p][v]: enough for training and, where the run evaluates, for evaluation.
std::vector<std::vector<int>> slots_needed(const config::Config& config, int ranks);

/// Memory of a rank of each stage, [p], as a Trainer takes it.
std::vector<spec::StageMemory> predict_memory(const config::Config& config, const spec::StageMap& map, int ranks);

}  // namespace trireme::train
