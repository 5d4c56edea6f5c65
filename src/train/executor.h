// Runs a stage's list of actions: before each it posts the group of transfers that the schedule implies, then comes one switch
// over the action.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "grid/grid.h"
#include "model/stage.h"
#include "schedule/messages.h"
#include "train/batches.h"
#include "train/gradients.h"
#include "train/loss.h"

namespace trireme::train {

/// A schedule with its messages, and the grid's number of each of their channels.
struct Program {
  schedule::Schedule schedule;
  schedule::Messages messages;
  std::vector<std::size_t> links;  // [messages.channels]
};
/// `grid_channels`: the channels that the grid was made with; the schedule needs some or all of them.
Program make_program(schedule::Schedule schedule, const std::vector<schedule::Channel>& grid_channels);

/// Looks at what a step's passes leave, each as soon as it is done.
class Probe {
 public:
  virtual ~Probe() = default;
  /// `loss`: of the microbatch, fp64 [1] in device memory, formed in the last chunk of the model.
  virtual void after_forward(int chunk, int slot, int microbatch, kernels::View loss) = 0;
  /// The gradients of `layer`'s parameters hold this microbatch too (-1: embedding, l: final norm and output layer), and, but for
  /// the embedding, the slot's gradient is that of the layer's input.
  virtual void after_backward(int chunk, int slot, int microbatch, int layer) = 0;
};

class PipelineExecutor {
 public:
  struct Parts {
    model::Stage& stage;
    grid::Grid& grid;
    kernels::Device& device;
    GradientReducer& gradients;
    Loss& loss;
    grid::Activity& activity;
    std::function<void()> optimizer_step;  // what Act::optimizer_step does
  };
  /// Token memory for every slot of the stage from `arena`, [s, b] int32, and pinned for `microbatches`, the most of a pass.
  PipelineExecutor(Parts parts, std::int64_t tokens, int microbatches, kernels::Arena& arena);

  /// One step, forward and backward, loss scaled by loss_scale before the backward pass. `loss` gets the sum over this pipeline's
  /// targets, on the last stage. Every rank calls it. Between two passes the host waits for the device: then their tokens are
  /// read.
  void train(const Program& program, Batches& batches, std::int64_t step, float loss_scale, Probe* probe = nullptr);
  /// The same sum without gradients and dropout, for the program's forward passes of `step`'s samples.
  void evaluate(const Program& program, Batches& batches, std::int64_t step);

  /// The most activations alive at once in training so far, each of one microbatch and chunk, from forward to backward.
  int peak_activations() const { return peak_alive_; }

 private:
  /// A transfer from or into a slot's buffer, to be waited for before the buffer is written or read.
  struct InFlight {
    grid::Communicator* channel = nullptr;
    grid::Ticket ticket;
  };
  struct SlotState {
    InFlight input_received, output_sent, gradient_received, gradient_sent;
    kernels::View inputs, targets;  // [s, b] int32
  };
  struct Run;

  void run(const Run& run);
  void post(const Run& run, const schedule::Transfer& transfer);
  void load(const Run& run, const schedule::Action& action, SlotState& state);
  void forward(const Run& run, const schedule::Action& action);
  void backward(const Run& run, const schedule::Action& action);
  void settle(InFlight& transfer);
  int slot_of(int chunk, int microbatch) const { return microbatch % parts_.stage.slot_count(chunk); }

  Parts parts_;
  std::vector<std::vector<SlotState>> slots_;    // [v][slots]
  std::optional<kernels::PinnedMemory> tokens_;  // int32 [microbatches, 2, s b]: inputs, targets; no upload waits for another
  int alive_ = 0, peak_alive_ = 0;
};

}  // namespace trireme::train
