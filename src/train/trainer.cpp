#include "train/trainer.h"

#include <cmath>

#include "train/initialize.h"

namespace trireme::train {
namespace {

Batches make_batches(const config::Config& config, const data::TokenSource& source, const grid::Grid& grid, std::int64_t global,
                     bool shuffle) {
  const std::int64_t m = global / (config.batch.micro * grid.shape().data);
  return {source, data::Sampler(source.samples(), global, config.run.seed, shuffle),
          BatchPlan{global, config.batch.micro, m, grid.at().data}, config.model.sequence};
}

double tokens_of(const config::Config& config, std::int64_t samples) {
  return static_cast<double>(samples * config.model.sequence);
}

kernels::View loss_cell(const Updater& updater) { return updater.record().slice(kernels::StepRecord::loss_cell, 1); }

}  // namespace

bool StepResult::finite() const { return std::isfinite(loss) && std::isfinite(gradient_norm); }

Trainer::Trainer(const config::Config& config, const layout::Layout& layout, grid::Grid grid, Backend backend, Sources sources,
                 const StateSource& initial)
    : config_(config),
      layout_(layout),
      sources_(std::move(sources)),
      replica_(config_, layout_, std::move(grid), std::move(backend)),
      updater_(config_, layout_, replica_),
      loss_(replica_),
      executor_(config_, layout_, replica_),
      batches_(make_batches(config_, *sources_.training, replica_.grid(), config_.batch.global, config_.data.shuffle)) {
  if (sources_.validation)
    held_out_.emplace(make_batches(config_, *sources_.validation, replica_.grid(), config_.run.evaluate_samples, true));
  replica_.grid().world().agree([&] {
    if (initial)
      initial(state(), replica_.device());
    else
      initialize_weights(replica_.table(), config_.run.seed, replica_.device(), replica_.weights());
  });
  replica_.seal();
  updater_.seal();
}

void Trainer::run_passes(std::int64_t step, const std::function<void()>& optimizer_step, Probe* probe) {
  grid().world().activity().set_step(step);
  updater_.begin();
  // The gradient is the mean over the global batch's tokens, so the loss is scaled before the backward pass.
  const auto scale = static_cast<float>(1 / tokens_of(config_, config_.batch.global));
  const auto layer_done = [this](int layer) { updater_.layer_done(layer); };
  executor_.train(layout_.training, {batches_, step, loss_, scale, updater_.gradients(), layer_done, optimizer_step, probe});
}

StepResult Trainer::step(std::int64_t step) {
  const auto optimizer_step = [&] {
    updater_.reduce();
    const grid::Activity::Scope scope(grid().world().activity(), grid::Work::optimizer_step);
    updater_.update(step);
  };
  run_passes(step, std::ref(optimizer_step), nullptr);
  loss_.reduce(loss_cell(updater_));
  kernels::StepRecord record;
  replica_.device().download(&record, updater_.record());  // the one place of a step where the host waits for the device
  return {record.loss / tokens_of(config_, config_.batch.global), record.norm, learning_rate(config_.optimizer, step)};
}

void Trainer::replay(std::int64_t step, Probe& probe) {
  run_passes(
      step, [this] { updater_.reduce(); }, &probe);
  replica_.device().synchronize();
}

double Trainer::evaluate() {
  executor_.evaluate(layout_.evaluation.value(), held_out_.value(), 0, loss_);
  loss_.reduce(loss_cell(updater_));  // the step's record was read
  double loss = 0;
  replica_.device().download(&loss, loss_cell(updater_));
  return loss / tokens_of(config_, config_.run.evaluate_samples);
}

std::vector<const kernels::Arena*> Trainer::arenas() const {
  const auto [parameters, activations, scratch] = replica_.arenas();
  const auto [gradients, optimizer] = updater_.arenas();
  return {parameters, gradients, optimizer, activations, scratch};
}

}  // namespace trireme::train
