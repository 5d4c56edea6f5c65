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
  const layout::Program& program;
  Batches& batches;
  std::int64_t step;
  Loss& loss;
  const TrainingPass* training;  // null: evaluation
};

namespace {

grid::Subject subject(const Action& action) { return {.microbatch = action.microbatch, .chunk = action.chunk}; }

bool reads_tokens(const spec::Chunk& chunk) { return chunk.embedding || chunk.head; }

/// Microbatches whose tokens may be on their way to the device at once: an upload that does not wait reads the host's memory
/// later, so all of a pass; one where the device's memory is the host's.
int uploaded_at_once(const layout::Layout& layout, const kernels::Device& device) {
  if (device.is_host()) return 1;
  return std::max(layout.training.schedule.microbatches, layout.evaluation ? layout.evaluation->schedule.microbatches : 0);
}

InFlight& of(std::array<InFlight, 2>& transfers, Payload payload) { return transfers[static_cast<std::size_t>(payload)]; }

/// What the stage sends of a slot, and into what it receives.
kernels::View buffer_of(const model::Slot& slot, Payload payload, bool is_send) {
  if (payload == Payload::gradient) return slot.gradient;
  return is_send ? slot.output() : slot.input;
}

Traffic traffic_of(Payload payload) { return payload == Payload::activation ? Traffic::pp_activation : Traffic::pp_gradient; }

}  // namespace

PipelineExecutor::PipelineExecutor(const config::Config& config, const layout::Layout& layout, Replica& replica)
    : replica_(replica),
      activity_(replica.grid().world().activity()),
      uploaded_at_once_(uploaded_at_once(layout, replica.device())) {
  for (std::size_t k = 0; k < layout.channels.size(); ++k) {
    const auto& [sender, receiver, payload] = layout.channels[k];
    const int stage = replica.grid().at().pipeline;
    links_.emplace_back();
    if (stage == sender || stage == receiver) links_.back().emplace(replica.grid().channel(k), traffic_of(payload));
  }
  const std::int64_t tokens = config.model.sequence * config.batch.micro;
  const auto& stage = replica.stage();
  for (int c = 0; c < stage.chunk_count(); ++c) {
    slots_.emplace_back(stage.slot_count(c));
    if (!tokens_ && reads_tokens(stage.chunk(c)))
      tokens_.emplace(replica.device(), uploaded_at_once_ * 2 * tokens * bytes_of(base::DType::int32));
  }
}

void PipelineExecutor::train(const layout::Program& program, const TrainingPass& pass) {
  run({program, pass.batches, pass.step, pass.loss, &pass});
}

void PipelineExecutor::evaluate(const layout::Program& program, Batches& batches, std::int64_t step, Loss& loss) {
  run({program, batches, step, loss, nullptr});
}

void PipelineExecutor::run(const Run& run) {
  const int stage = replica_.grid().at().pipeline;
  const auto& actions = run.program.schedule.actions[stage];
  const auto& groups = run.program.messages.before[stage];
  run.loss.clear();
  for (std::size_t k = 0; k < actions.size(); ++k) {
    for (const Transfer& transfer : groups[k]) post(run, transfer);
    if (run.training) count_alive(actions[k]);
    switch (actions[k].act) {
      case Act::forward:
        forward(run, actions[k]);
        break;
      case Act::backward:
        backward(run, actions[k]);
        break;
      case Act::optimizer_step:
        run.training->optimizer_step();
        break;
    }
  }
  for (const Transfer& transfer : groups.back()) post(run, transfer);
}

void PipelineExecutor::count_alive(const Action& action) {
  const schedule::ActFacts& what = facts(action.act);
  alive_ += (what.takes_activation ? 1 : 0) - (what.frees_activation ? 1 : 0);
  peak_alive_ = std::max(peak_alive_, alive_);
}

/// Posts a transfer and goes on: it is waited for when its buffer is needed.
void PipelineExecutor::post(const Run& run, const Transfer& transfer) {
  const Payload payload = run.program.messages.channels[transfer.channel].payload;
  const int index = slot_of(transfer.chunk, transfer.microbatch);
  const kernels::View buffer = buffer_of(replica_.stage().slot(transfer.chunk, index), payload, transfer.is_send);
  SlotState& state = slots_[transfer.chunk][index];
  const Link& link = links_[run.program.channels[transfer.channel]].value();
  InFlight& sent = of(state.sent, payload);
  if (transfer.is_send) {
    sent = link.send(buffer);
  } else {
    sent.settle();  // of the slot's microbatch before
    of(state.received, payload) = link.receive(buffer);
  }
}

void PipelineExecutor::load_tokens(const Run& run, const Action& action, const model::Slot& slot) {
  const grid::Activity::Scope scope(activity_, Work::data, subject(action));
  const std::int64_t count = slot.tokens.count;
  std::int32_t* inputs = static_cast<std::int32_t*>(tokens_->data()) + action.microbatch % uploaded_at_once_ * 2 * count;
  run.batches.load(run.step, action.microbatch, inputs, inputs + count);
  replica_.device().upload_later(slot.tokens, inputs);
  replica_.device().upload_later(slot.targets, inputs + count);
}

void PipelineExecutor::forward(const Run& run, const Action& action) {
  const int index = slot_of(action.chunk, action.microbatch);
  SlotState& state = slots_[action.chunk][index];
  model::Stage& stage = replica_.stage();
  const spec::Chunk& chunk = stage.chunk(action.chunk);
  of(state.received, Payload::activation).settle();
  of(state.sent, Payload::activation).settle();
  if (chunk.head) of(state.sent, Payload::gradient).settle();
  if (reads_tokens(chunk)) load_tokens(run, action, stage.slot(action.chunk, index));
  const auto first = static_cast<std::uint64_t>(run.batches.first_sample(run.step, action.microbatch));
  const kernels::View loss = run.loss.microbatch();
  const grid::Activity::Scope scope(activity_, run.training ? Work::forward : Work::evaluation, subject(action));
  if (run.training)
    stage.forward(action.chunk, index, first, run.training->gradients, run.training->loss_scale, loss);
  else
    stage.evaluate(action.chunk, index, first, loss);
  if (chunk.head) run.loss.add();
  Probe* probe = run.training ? run.training->probe : nullptr;
  if (probe) probe->after_forward(action.chunk, index, action.microbatch, loss);
}

void PipelineExecutor::backward(const Run& run, const Action& action) {
  const TrainingPass& pass = *run.training;
  const bool last = action.microbatch == run.program.schedule.microbatches - 1;  // backward passes run in order
  const int index = slot_of(action.chunk, action.microbatch);
  of(slots_[action.chunk][index].received, Payload::gradient).settle();
  const grid::Activity::Scope scope(activity_, Work::backward, subject(action));
  const auto layer_done = [&](int layer) {
    if (pass.probe) pass.probe->after_backward(action.chunk, index, action.microbatch, layer);
    if (last) pass.layer_done(layer);
  };
  // By reference: a std::function of its size would allocate.
  replica_.stage().backward(action.chunk, index, pass.gradients, std::ref(layer_done));
}

}  // namespace trireme::train
