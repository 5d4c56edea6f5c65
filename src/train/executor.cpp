#include "train/executor.h"

#include <algorithm>

namespace trireme::train {

using grid::Traffic;
using grid::Work;
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
  Probe* probe;
};

namespace {

grid::Subject subject(const Action& action) { return {.microbatch = action.microbatch, .chunk = action.chunk}; }

bool reads_tokens(const spec::Chunk& chunk) { return chunk.embedding || chunk.head; }

}  // namespace

Program make_program(schedule::Schedule schedule, const std::vector<schedule::Channel>& grid_channels) {
  Program program{std::move(schedule), {}, {}};
  program.messages = derive_messages(program.schedule);
  for (const schedule::Channel& channel : program.messages.channels)
    program.links.push_back(std::find(grid_channels.begin(), grid_channels.end(), channel) - grid_channels.begin());
  return program;
}

PipelineExecutor::PipelineExecutor(Parts parts, std::int64_t tokens, int microbatches, kernels::Arena& arena)
    : parts_(std::move(parts)) {
  const auto bytes_each = tokens * bytes_of(kernels::DType::int32);
  for (int c = 0; c < parts_.stage.chunk_count(); ++c) {
    if (!tokens_ && reads_tokens(parts_.stage.chunk(c))) tokens_.emplace(parts_.device, microbatches * 2 * bytes_each);
    slots_.emplace_back();
    for (int k = 0; k < parts_.stage.slot_count(c); ++k)
      slots_.back().push_back(
          {{}, {}, {}, {}, arena.take(kernels::DType::int32, tokens), arena.take(kernels::DType::int32, tokens)});
  }
}

void PipelineExecutor::train(const Program& program, Batches& batches, std::int64_t step, float loss_scale, Probe* probe) {
  run({program, batches, step, true, loss_scale, probe});
}

void PipelineExecutor::evaluate(const Program& program, Batches& batches, std::int64_t step) {
  run({program, batches, step, false, 0, nullptr});
}

void PipelineExecutor::run(const Run& run) {
  const int stage = parts_.grid.pipeline().rank();
  const auto& actions = run.program.schedule.actions[stage];
  const auto& groups = run.program.messages.before[stage];
  parts_.loss.clear();
  for (std::size_t k = 0; k < actions.size(); ++k) {
    for (const Transfer& transfer : groups[k]) post(run, transfer);
    switch (actions[k].act) {
      case Act::forward:
        forward(run, actions[k]);
        break;
      case Act::backward:
        backward(run, actions[k]);
        break;
      case Act::optimizer_step:
        parts_.optimizer_step();
        break;
    }
  }
  for (const Transfer& transfer : groups.back()) post(run, transfer);
}

void PipelineExecutor::settle(InFlight& transfer) {
  if (transfer.channel) transfer.channel->order_after(transfer.ticket);
  transfer = {};
}

/// Posts a transfer and goes on: it is waited for when its buffer is needed.
void PipelineExecutor::post(const Run& run, const Transfer& transfer) {
  const schedule::Channel& channel = run.program.messages.channels[transfer.channel];
  const bool activation = channel.payload == Payload::activation;
  const Traffic kind = activation ? Traffic::pp_activation : Traffic::pp_gradient;
  const int index = slot_of(transfer.chunk, transfer.microbatch);
  const model::Slot& slot = parts_.stage.slot(transfer.chunk, index);
  SlotState& state = slots_[transfer.chunk][index];
  grid::Communicator& link = parts_.grid.channel(run.program.links[transfer.channel]);
  if (!transfer.is_send) settle(activation ? state.output_sent : state.gradient_sent);  // of the slot's microbatch before
  link.begin_group();
  if (transfer.is_send)
    link.send(activation ? slot.output() : slot.gradient, 1 - link.rank(), kind);
  else
    link.receive(activation ? slot.input : slot.gradient, 1 - link.rank(), kind);
  InFlight& posted = activation ? (transfer.is_send ? state.output_sent : state.input_received)
                                : (transfer.is_send ? state.gradient_sent : state.gradient_received);
  posted = {&link, link.end_group()};
}

void PipelineExecutor::load(const Run& run, const Action& action, SlotState& state) {
  const grid::Activity::Scope scope(parts_.activity, Work::data, subject(action));
  const std::int64_t count = state.inputs.count;
  std::int32_t* inputs = static_cast<std::int32_t*>(tokens_->data()) + action.microbatch * 2 * count;
  run.batches.load(run.step, action.microbatch, inputs, inputs + count);
  parts_.device.upload_later(state.inputs, inputs);
  parts_.device.upload_later(state.targets, inputs + count);
}

void PipelineExecutor::forward(const Run& run, const Action& action) {
  const int index = slot_of(action.chunk, action.microbatch);
  SlotState& state = slots_[action.chunk][index];
  const spec::Chunk& chunk = parts_.stage.chunk(action.chunk);
  settle(state.input_received);
  settle(state.output_sent);
  if (chunk.head) settle(state.gradient_sent);
  if (reads_tokens(chunk)) load(run, action, state);
  const auto first = static_cast<std::uint64_t>(run.batches.first_sample(run.step, action.microbatch));
  const model::Microbatch microbatch{first, state.inputs, state.targets, parts_.loss.microbatch()};
  if (run.training) peak_alive_ = std::max(peak_alive_, ++alive_);
  const grid::Activity::Scope scope(parts_.activity, run.training ? Work::forward : Work::evaluation, subject(action));
  if (run.training)
    parts_.stage.forward(action.chunk, index, microbatch, run.loss_scale);
  else
    parts_.stage.evaluate(action.chunk, index, microbatch);
  if (chunk.head) parts_.loss.add();
  if (run.probe) run.probe->after_forward(action.chunk, index, action.microbatch, microbatch.loss);
}

void PipelineExecutor::backward(const Run& run, const Action& action) {
  const bool last = action.microbatch == run.program.schedule.microbatches - 1;  // backward passes run in order
  const int index = slot_of(action.chunk, action.microbatch);
  settle(slots_[action.chunk][index].gradient_received);
  --alive_;
  const grid::Activity::Scope scope(parts_.activity, Work::backward, subject(action));
  const auto layer_done = [&](int layer) {
    if (run.probe) run.probe->after_backward(action.chunk, index, action.microbatch, layer);
    if (last) parts_.gradients.layer_done(layer);
  };
  parts_.stage.backward(action.chunk, index, std::ref(layer_done));  // by reference: a std::function of its size would allocate
}

}  // namespace trireme::train
