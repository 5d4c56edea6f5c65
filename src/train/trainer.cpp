#include "train/trainer.h"

#include <cmath>

#include "train/initialize.h"

namespace trireme::train {
namespace {

double tokens_of_step(const config::Config& config) { return static_cast<double>(config.batch.global * config.model.sequence); }

kernels::View loss_cell(const Updater& updater) { return updater.record().slice(kernels::StepOutcome::loss_cell, 1); }

}  // namespace

bool StepResult::finite() const { return std::isfinite(loss) && (skipped || std::isfinite(gradient_norm)); }

Trainer::Trainer(const config::Config& config, const layout::Layout& layout, grid::Grid grid, Backend backend, Sources sources,
                 const StateSource& initial)
    : config_(config),
      layout_(layout),
      sources_(std::move(sources)),
      replica_(config_, layout_, std::move(grid), std::move(backend)),
      updater_(config_, layout_, replica_),
      loss_(replica_),
      executor_(config_, layout_, replica_),
      batches_(make_batches(config_, layout_.training, replica_.grid().at().data, *sources_.training,
                            {.samples = config_.batch.global, .shuffle = config_.data.shuffle})) {
  if (sources_.validation) evaluator_.emplace(config_, layout_, *sources_.validation, replica_, executor_);
  replica_.grid().world().agree([&] {
    if (evaluator_) evaluator_->read_ahead();
    if (initial)
      initial(state(), replica_.device());
    else
      initialize_weights(replica_.table(), config_.run.seed, replica_.device(), replica_.weights());
  });
  replica_.round_weights();
  replica_.seal();
  updater_.seal();
}

void Trainer::run_passes(std::int64_t step, const std::function<void()>& optimizer_step, Probe* probe) {
  grid().world().activity().set_step(step);
  updater_.begin();
  // The gradient is the mean over the global batch's tokens, so the loss is scaled before the backward pass.
  const auto scale = static_cast<float>(updater_.loss_scale().scale() / tokens_of_step(config_));
  const auto layer_done = [this](int layer) { updater_.layer_done(layer); };
  executor_.train(layout_.training, {batches_, step, loss_, scale, updater_.gradients(), layer_done, optimizer_step, probe});
}

void Trainer::read_ahead(std::int64_t step) {
  if (executor_.takes_tokens()) batches_.read_ahead(step);
}

StepResult Trainer::step(std::int64_t step) {
  const auto optimizer_step = [&] {
    updater_.reduce();
    const grid::Activity::Scope scope(grid().world().activity(), grid::Work::optimizer_step);
    updater_.update(step);
  };
  run_passes(step, std::ref(optimizer_step), nullptr);
  replica_.device().copy(loss_cell(updater_), loss_.reduce());
  kernels::StepOutcome record;
  replica_.device().download(&record, updater_.record());  // the one place of a step where the host waits for the device
  const double norm = std::abs(record.norm);               // of a NaN, whose sign no layout need share
  StepResult result{record.loss / tokens_of_step(config_), norm, learning_rate(config_.optimizer, step)};
  LossScale& loss_scale = updater_.loss_scale();
  if (loss_scale.skips()) result.loss_scale = loss_scale.scale();
  result.skipped = loss_scale.skips() && record.skipped != 0;
  loss_scale.update(result.skipped);
  result.skipped_steps = loss_scale.skipped();
  return result;
}

void Trainer::replay(std::int64_t step, Probe& probe) {
  run_passes(
      step, [this] { updater_.reduce(); }, &probe);
  replica_.device().synchronize();
}

double Trainer::evaluate() { return evaluator_.value()(); }

std::vector<ClassArena> Trainer::arenas() const {
  std::vector<ClassArena> all = replica_.arenas();
  for (const ClassArena& arena : updater_.arenas()) all.push_back(arena);
  return all;
}

}  // namespace trireme::train
