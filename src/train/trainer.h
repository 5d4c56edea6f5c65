// Training steps of one model: the replica's passes, the updater, and the samples that go through them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "config/config.h"
#include "data/source.h"
#include "layout/layout.h"
#include "train/evaluator.h"
#include "train/executor.h"
#include "train/loss.h"
#include "train/replica.h"
#include "train/updater.h"

namespace trireme::train {

struct StepResult {
  double loss = 0;           // nats a token, mean over the global batch, before the update
  double gradient_norm = 0;  // before clipping
  double learning_rate = 0;
  std::optional<double> loss_scale = {};  // of this step; nothing but in fp16
  bool skipped = false;                   // the gradients are not finite, and the loss scale deals with it
  std::int64_t skipped_steps = 0;         // of the run up to this step
  /// Whether nothing is wrong that a smaller loss scale would not mend.
  bool finite() const;
};

/// Samples to train on, and held-out ones (null when run.evaluate_every is 0).
struct Sources {
  std::unique_ptr<data::TokenSource> training, validation;
};

class Trainer {
 public:
  /// Every rank, with equal arguments that were checked (config/check.h); `grid` is make_grid's of this layout. Takes all memory,
  /// reads the held-out samples, then lets `initial` set the state; without it weights are drawn from run.seed and moments are
  /// zero. What fails is agreed.
  Trainer(const config::Config& config, const layout::Layout& layout, grid::Grid grid, Backend backend, Sources sources,
          const StateSource& initial = {});

  /// Reads the tokens of step `step`, where this rank needs any, so that step() meets no fault in a file. Throws base::Error, as
  /// Batches::read_ahead. Any rank, alone; a step that was not read ahead reads its tokens as it goes.
  void read_ahead(std::int64_t step);
  /// Step `step` >= 0: a pure function of the weights, the optimizer's state, the loss scale's and the step's number. Every rank;
  /// all return the same. When the norm is not finite the weights have not been updated. The loss scale of the next step follows.
  StepResult step(std::int64_t step);
  /// The passes of step `step` once more, shown to `probe`; weights and optimizer stay. Every rank.
  void replay(std::int64_t step, Probe& probe);
  /// Mean loss in nats a token over run.evaluate_samples held-out samples, drawn once from all of them; no dropout. Every rank;
  /// all return the same.
  double evaluate();

  const config::Config& config() const { return config_; }
  const layout::Layout& layout() const { return layout_; }
  Replica& replica() { return replica_; }
  grid::Grid& grid() { return replica_.grid(); }
  Updater& updater() { return updater_; }
  const Batches& batches() const { return batches_; }
  TrainingState state() { return updater_.state(); }
  int peak_activations() const { return executor_.peak_activations(); }
  /// All but the snapshot's, which is not training's.
  std::vector<ClassArena> arenas() const;

 private:
  void run_passes(std::int64_t step, const std::function<void()>& optimizer_step, Probe* probe);

  config::Config config_;
  layout::Layout layout_;
  Sources sources_;
  Replica replica_;
  Updater updater_;
  Loss loss_;
  PipelineExecutor executor_;
  Batches batches_;
  std::optional<Evaluator> evaluator_;
};

}  // namespace trireme::train
