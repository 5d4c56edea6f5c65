#include "layout/layout.h"

#include <algorithm>

#include "grid/mpi_communicator.h"
#include "schedule/messages.h"

namespace trireme::train {

grid::Shape grid_shape(const config::Config& config, int ranks) {
  const int t = static_cast<int>(config.parallel.tensor), p = static_cast<int>(config.parallel.pipeline);
  return {.tensor = t, .data = ranks / (t * p), .pipeline = p};
}

schedule::Schedule make_schedule(const config::Config& config, std::int64_t samples, int ranks) {
  const std::int64_t m = samples / (config.batch.micro * grid_shape(config, ranks).data);
  const auto kind = schedule::kind_named(config.parallel.schedule);
  return schedule::make_schedule(kind.value(), static_cast<int>(config.parallel.pipeline),
                                 static_cast<int>(config.parallel.chunks), static_cast<int>(m));
}

schedule::Schedule forward_only(const schedule::Schedule& schedule) {
  schedule::Schedule forward = schedule;
  for (auto& actions : forward.actions)
    std::erase_if(actions, [](const schedule::Action& action) { return !facts(action.act).in_evaluation; });
  return forward;
}

std::vector<std::vector<int>> slots_needed(const config::Config& config, int ranks) {
  std::vector<std::vector<int>> slots(config.parallel.pipeline, std::vector<int>(config.parallel.chunks));
  const auto add = [&](const schedule::Schedule& schedule) {
    const schedule::Messages messages = derive_messages(schedule);
    for (int stage = 0; stage < schedule.stages; ++stage) {
      const std::vector<int> needed = buffers_needed(schedule, messages, stage);
      for (std::size_t c = 0; c < needed.size(); ++c) slots[stage][c] = std::max(slots[stage][c], needed[c]);
    }
  };
  add(make_schedule(config, config.batch.global, ranks));
  if (config.run.evaluate_every > 0) add(forward_only(make_schedule(config, config.run.evaluate_samples, ranks)));
  return slots;
}

std::vector<spec::StageMemory> predict_memory(const config::Config& config, const spec::StageMap& map, int ranks) {
  const auto slots = slots_needed(config, ranks);
  std::vector<spec::StageMemory> stages;
  for (int stage = 0; stage < map.stages; ++stage)
    stages.push_back(
        stage_memory(config, map, {stage, grid_shape(config, ranks).data, slots[stage], grid::MpiCommunicator::scratch_limit}));
  return stages;
}

}  // namespace trireme::train
