// One run's model, laid out over the grid: everything a step needs, taken once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "data/source.h"
#include "grid/grid.h"
#include "kernels/kernels.h"
#include "model/stage.h"
#include "schedule/schedule.h"
#include "spec/local_table.h"
#include "spec/memory.h"
#include "train/executor.h"
#include "train/gradients.h"
#include "train/optimizer.h"
#include "train/state.h"

namespace trireme::train {

struct StepResult {
  double loss = 0;           // nats a token, mean over the global batch, before the update
  double gradient_norm = 0;  // before clipping
  double learning_rate = 0;
  bool finite() const;
};

/// Samples to train on, and held-out ones (null when run.evaluate_every is 0).
struct Sources {
  std::unique_ptr<data::TokenSource> training, validation;
};

/// The CPU backend, with scratch for the model.
std::unique_ptr<kernels::Kernels> make_kernels(const config::Model& model, int threads);

/// What computes, and whose memory it is in; what is empty is the CPU's.
struct Backend {
  std::unique_ptr<kernels::Device> device;
  std::unique_ptr<kernels::Kernels> kernels;
};

class Trainer {
 public:
  /// Every rank, with equal arguments that were checked (config/check.h). Makes the grid, then takes all memory, then sets the
  /// state that `origin` says; what cannot be read is agreed.
  Trainer(const config::Config& config, int threads, grid::World& world, Sources sources, const Origin& origin = {},
          Backend backend = {});

  /// Step `step` >= 0: a pure function of the weights, the optimizer's state and the step's number. Every rank; all return the
  /// same. When the result is not finite the weights have not been updated.
  StepResult step(std::int64_t step);
  /// The passes of step `step` once more, shown to `probe`; weights and optimizer stay. Every rank.
  void replay(std::int64_t step, Probe& probe);
  /// Of the last step, the norm of each parameter's gradient (spec::model_parameters), before clipping. No communication; reads
  /// the device's memory.
  std::vector<double> gradient_norms() const { return norm_.by_parameter(); }
  /// Mean loss in nats a token over run.evaluate_samples held-out samples, drawn once from all of them; no dropout. Every rank;
  /// all return the same.
  double evaluate();
  /// Every rank. Writes the weights as a .safetensors file; errors are agreed.
  void save(const std::string& path);
  /// Every rank; all return the same: which copies of a parameter differ, or nothing (run/copies.h).
  std::string differing_copies();

  grid::Grid& grid() { return grid_; }
  const spec::StageMap& stage_map() const { return map_; }
  const schedule::Schedule& schedule() const { return training_.schedule; }
  std::vector<const kernels::Arena*> arenas() const;
  /// machine.h's private_memory when grid and kernels were made and no arena taken.
  std::int64_t private_before_arenas() const { return private_before_arenas_; }
  int peak_activations() const { return executor_.peak_activations(); }
  /// What was known before anything was taken: bytes of this rank by class, the arenas first and in their order.
  const spec::StageMemory& predicted_memory() const { return predicted_; }
  kernels::Kernels& kernels() { return *kernels_; }
  kernels::Device& device() { return *device_; }
  const spec::LocalTable& table() const { return table_; }
  model::Stage& stage() { return stage_; }
  const Batches& batches() const { return batches_; }
  const config::Config& config() const { return config_; }
  /// Of this rank: at the places of `table`, and, where one stage holds both ends of the tied embedding, the output layer's own.
  kernels::View gradient() { return gradient_; }
  kernels::View output_gradient() { return output_gradient_; }
  /// This rank's weights, at the places of `table`.
  kernels::View weights() { return weights_; }
  TrainingState state() { return {table_, weights_, optimizer_.first_moment(), optimizer_.second_moment()}; }
  /// What checkpoints are written from while training goes on; empty when checkpoint.every is 0.
  kernels::View snapshot() { return snapshot_; }

 private:
  double tokens_of_step() const { return static_cast<double>(config_.batch.global * config_.model.sequence); }
  void run_passes(std::int64_t step, Probe* probe);
  void finish_step(std::int64_t step);
  void set_state(const Origin& origin);

  config::Config config_;
  Sources sources_;
  std::unique_ptr<kernels::Device> device_;
  std::unique_ptr<kernels::Kernels> kernels_;
  spec::StageMap map_;
  std::vector<schedule::Channel> channels_;
  Program training_;
  std::optional<Program> evaluation_;
  grid::Grid grid_;
  std::int64_t private_before_arenas_;
  spec::LocalTable table_;
  spec::StageMemory predicted_;
  kernels::Arena parameters_, gradients_, optimizer_state_, activations_, scratch_, snapshots_;
  kernels::Arena numbers_;  // what a step's record is formed from
  kernels::View weights_, gradient_, output_gradient_, snapshot_;
  kernels::View record_;  // kernels::StepRecord
  model::Stage stage_;
  Loss loss_;
  GradientReducer reducer_;
  GradientNorm norm_;
  Optimizer optimizer_;
  Batches batches_;
  std::optional<Batches> held_out_;
  PipelineExecutor executor_;
  std::int64_t current_ = 0;
  bool replaying_ = false;
};

}  // namespace trireme::train
