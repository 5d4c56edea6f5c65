#include "train/executor.h"

#include <algorithm>
#include <array>

namespace trireme::train {

using grid::Traffic;
using schedule::Act;
using schedule::Action;
using schedule::Payload;
using schedule::Transfer;

/// One pass over a program: what every helper below needs to know.
struct PipelineExecutor::Run {
  const Program& program;
  Batches& batches;
  std::int64_t step;
  bool training;
  float loss_scale;
};

Program make_program(schedule::Schedule schedule, const std::vector<schedule::Channel>& grid_channels) {
  Program program{std::move(schedule), {}, {}};
  program.messages = derive_messages(program.schedule);
  for (const schedule::Channel& channel : program.messages.channels)
    program.links.push_back(std::find(grid_channels.begin(), grid_channels.end(), channel) - grid_channels.begin());
  return program;
}

schedule::Schedule forward_only(const schedule::Schedule& schedule) {
  schedule::Schedule forward = schedule;
  for (auto& actions : forward.actions) std::erase_if(actions, [](const Action& action) { return action.act != Act::forward; });
  return forward;
}

PipelineExecutor::PipelineExecutor(Parts parts, std::int64_t tokens, kernels::Arena& arena)
    : parts_(std::move(parts)), inputs_(tokens), targets_(tokens) {
  for (int c = 0; c < parts_.stage.chunk_count(); ++c) {
    slots_.emplace_back();
    for (int k = 0; k < parts_.stage.slot_count(c); ++k)
      slots_.back().push_back({{}, {}, arena.take(kernels::DType::int32, tokens), arena.take(kernels::DType::int32, tokens)});
  }
}

double PipelineExecutor::train(const Program& program, Batches& batches, std::int64_t step, float loss_scale) {
  return run({program, batches, step, true, loss_scale});
}

double PipelineExecutor::evaluate(const Program& program, Batches& batches, std::int64_t step) {
  return run({program, batches, step, false, 0});
}

double PipelineExecutor::run(const Run& run) {
  const int stage = parts_.grid.pipeline().rank();
  const auto& actions = run.program.schedule.actions[stage];
  const auto& groups = run.program.messages.before[stage];
  double loss = 0;
  for (std::size_t k = 0; k < actions.size(); ++k) {
    exchange(run, groups[k]);
    switch (actions[k].act) {
      case Act::forward:
        loss += forward(run, actions[k]);
        break;
      case Act::backward:
        backward(run, actions[k]);
        break;
      case Act::optimizer_step:
        parts_.optimizer_step();
        break;
    }
  }
  exchange(run, groups.back());
  return loss;
}

void PipelineExecutor::settle(Sent& sent) {
  if (sent.channel) sent.channel->wait(sent.ticket);
  sent = {};
}

/// Posts the whole group, then waits for what it receives; what it sends is waited for when its buffer is needed again.
void PipelineExecutor::exchange(const Run& run, const std::vector<Transfer>& group) {
  std::array<Sent, 4> received;  // a group holds at most two payloads in each direction
  std::size_t count = 0;
  for (const Transfer& transfer : group) {
    const Sent posted = post(run, transfer);
    if (!transfer.is_send) received.at(count++) = posted;
  }
  for (Sent& transfer : received) settle(transfer);
}

PipelineExecutor::Sent PipelineExecutor::post(const Run& run, const Transfer& transfer) {
  const schedule::Channel& channel = run.program.messages.channels[transfer.channel];
  const bool activation = channel.payload == Payload::activation;
  const Traffic kind = activation ? Traffic::pp_activation : Traffic::pp_gradient;
  const int index = slot_of(transfer);
  const model::Slot& slot = parts_.stage.slot(transfer.chunk, index);
  SlotState& state = slots_[transfer.chunk][index];
  grid::Communicator& link = parts_.grid.channel(run.program.links[transfer.channel]);
  link.begin_group();
  if (transfer.is_send) {
    link.send(activation ? slot.output() : slot.gradient, 1 - link.rank(), kind);
    Sent& sent = activation ? state.output : state.gradient;
    sent = {&link, link.end_group()};
    return sent;
  }
  if (!activation) settle(state.gradient);
  link.receive(activation ? slot.input : slot.gradient, 1 - link.rank(), kind);
  return {&link, link.end_group()};
}

double PipelineExecutor::forward(const Run& run, const Action& action) {
  const int index = slot_of(action.chunk, action.microbatch);
  SlotState& state = slots_[action.chunk][index];
  settle(state.output);
  settle(state.gradient);
  const spec::Chunk& chunk = parts_.stage.chunk(action.chunk);
  if (chunk.embedding || chunk.head) {
    const Timers::Scope scope(parts_.timers, Work::data);
    run.batches.load(run.step, action.microbatch, inputs_.data(), targets_.data());
    parts_.device.upload(state.inputs, inputs_.data());
    parts_.device.upload(state.targets, targets_.data());
  }
  const auto first = static_cast<std::uint64_t>(run.batches.first_sample(run.step, action.microbatch));
  const model::Microbatch microbatch{first, state.inputs, state.targets};
  const Timers::Scope scope(parts_.timers, run.training ? Work::forward : Work::evaluation);
  return run.training ? parts_.stage.forward(action.chunk, index, microbatch, run.loss_scale)
                      : parts_.stage.evaluate(action.chunk, index, microbatch);
}

void PipelineExecutor::backward(const Run& run, const Action& action) {
  const bool last = action.microbatch == run.program.schedule.microbatches - 1;  // backward passes run in order
  const Timers::Scope scope(parts_.timers, Work::backward);
  parts_.stage.backward(action.chunk, slot_of(action.chunk, action.microbatch), [&](int layer) {
    if (last) parts_.gradients.layer_done(layer);
  });
}

}  // namespace trireme::train
