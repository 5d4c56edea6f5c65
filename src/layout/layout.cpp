#include "layout/layout.h"

#include <algorithm>

namespace trireme::layout {
namespace {

grid::Shape make_shape(const config::Config& config, int ranks) {
  const int t = static_cast<int>(config.parallel.tensor), p = static_cast<int>(config.parallel.pipeline);
  return {.tensor = t, .data = ranks / (t * p), .pipeline = p};
}

/// The schedule in which `samples` of a step, or of an evaluation, go through the pipelines.
schedule::Schedule schedule_of(const config::Config& config, std::int64_t samples, const grid::Shape& shape) {
  const std::int64_t m = samples / (config.batch.micro * shape.data);
  const auto kind = schedule::require_kind(config.parallel.schedule);
  return schedule::make_schedule(kind, shape.pipeline, static_cast<int>(config.parallel.chunks), static_cast<int>(m));
}

/// Makes `slots` [p][v] at least as many as the program keeps microbatches alive.
void raise_to(const Program& program, std::vector<std::vector<int>>& slots) {
  for (int stage = 0; stage < program.schedule.stages; ++stage) {
    const std::vector<int> needed = buffers_needed(program.schedule, program.messages, stage);
    for (std::size_t c = 0; c < needed.size(); ++c) slots[stage][c] = std::max(slots[stage][c], needed[c]);
  }
}

}  // namespace

Program make_program(schedule::Schedule schedule, std::vector<schedule::Channel>& channels) {
  Program program{std::move(schedule), {}, {}};
  program.messages = derive_messages(program.schedule);
  for (const schedule::Channel& channel : program.messages.channels) {
    const auto place = std::find(channels.begin(), channels.end(), channel);
    program.channels.push_back(place - channels.begin());
    if (place == channels.end()) channels.push_back(channel);
  }
  return program;
}

schedule::Schedule forward_only(const schedule::Schedule& schedule) {
  schedule::Schedule forward = schedule;
  for (auto& actions : forward.actions)
    std::erase_if(actions, [](const schedule::Action& action) { return !facts(action.act).in_evaluation; });
  return forward;
}

Layout make_layout(const config::Config& config, int ranks) {
  Layout layout{.shape = make_shape(config, ranks),
                .stage_map = spec::make_stage_map(config.model, config.parallel),
                .channels = {},
                .training = {},
                .evaluation = {},
                .slots = {},
                .memory = {}};
  layout.training = make_program(schedule_of(config, config.batch.global, layout.shape), layout.channels);
  layout.slots.assign(config.parallel.pipeline, std::vector<int>(config.parallel.chunks));
  raise_to(layout.training, layout.slots);
  if (config.run.evaluate_every > 0) {
    layout.evaluation =
        make_program(forward_only(schedule_of(config, config.run.evaluate_samples, layout.shape)), layout.channels);
    raise_to(*layout.evaluation, layout.slots);
  }
  for (int stage = 0; stage < layout.shape.pipeline; ++stage)
    layout.memory.push_back(
        stage_memory(config, layout.stage_map, {stage, layout.shape.data, layout.slots[stage], grid::exchange_scratch_limit}));
  return layout;
}

int Layout::costliest_stage() const {
  const auto most =
      std::max_element(memory.begin(), memory.end(), [](const auto& a, const auto& b) { return a.total() < b.total(); });
  return static_cast<int>(most - memory.begin());
}

}  // namespace trireme::layout
