#include "train/trainer.h"

#include <algorithm>
#include <cmath>

#include "base/alignment.h"
#include "layout/layout.h"
#include "run/copies.h"
#include "run/machine.h"
#include "run/resume.h"
#include "run/weights_file.h"
#include "train/initialize.h"

namespace trireme::train {
namespace {

using kernels::DType;

std::vector<schedule::Channel> channels_of(const config::Config& config, int ranks) {
  return derive_messages(make_schedule(config, config.batch.global, ranks)).channels;
}

std::vector<grid::ChannelSpec> specs(const std::vector<schedule::Channel>& channels) {
  std::vector<grid::ChannelSpec> result;
  for (const schedule::Channel& channel : channels) result.push_back({channel.sender, channel.receiver});
  return result;
}

std::optional<Program> make_evaluation(const config::Config& config, int ranks, const std::vector<schedule::Channel>& channels) {
  if (config.run.evaluate_every == 0) return std::nullopt;
  return make_program(forward_only(make_schedule(config, config.run.evaluate_samples, ranks)), channels);
}

Batches make_batches(const config::Config& config, const data::TokenSource& source, const grid::Grid& grid, std::int64_t global,
                     bool shuffle) {
  const std::int64_t m = global / (config.batch.micro * grid.shape().data);
  return {source, data::Sampler(source.samples(), global, config.run.seed, shuffle),
          BatchPlan{global, config.batch.micro, m, grid.at().data}, config.model.sequence};
}

model::Environment environment(const config::Config& config, kernels::Kernels& kernels, grid::Grid& grid) {
  return {.kernels = kernels,
          .tensor = grid.tensor(),
          .progress = grid.world().progress(),
          .dims = model::make_dimensions(config.model, config.batch.micro, grid.shape().tensor, grid.at().tensor),
          .dropout = static_cast<float>(config.model.dropout),
          .seed = config.run.seed};
}

/// The gradients' views; with p = 1 the output layer's gradient is apart from the token embedding's.
model::StageParameters gradient_views(const spec::LocalTable& table, kernels::View gradients, kernels::View output, int layers) {
  model::StageParameters views = model::parameter_views(table, gradients, layers);
  if (output) views.output = output;
  return views;
}

/// The output layer's own gradient where one stage holds both ends of the tied embedding; else nothing.
kernels::View take_output_gradient(const spec::LocalTable& table, const spec::StageMap& map, kernels::Arena& arena) {
  return map.stages == 1 ? arena.take(DType::fp32, table.find(spec::token_embedding)->elements) : kernels::View{};
}

kernels::View take_snapshot(std::int64_t bytes, kernels::Arena& arena) {
  return bytes > 0 ? arena.take(DType::fp32, bytes / bytes_of(DType::fp32)) : kernels::View{};
}

/// The most that record, loss and norm take, with what alignment adds.
std::int64_t bytes_of_numbers(const spec::LocalTable& table, const grid::Shape& shape) {
  return bytes_of(DType::fp64) * (std::ssize(table.parameters) * shape.tensor + shape.data) + 8 * base::buffer_alignment;
}

int most_microbatches(const Program& training, const std::optional<Program>& evaluation) {
  return std::max(training.schedule.microbatches, evaluation ? evaluation->schedule.microbatches : 0);
}

}  // namespace

std::unique_ptr<kernels::Kernels> make_kernels(const config::Model& model, int threads) {
  return kernels::make_cpu_kernels({threads, model.sequence, model.hidden / model.heads});
}

bool StepResult::finite() const { return std::isfinite(loss) && std::isfinite(gradient_norm); }

Trainer::Trainer(const config::Config& config, int threads, grid::World& world, Sources sources, const Origin& origin,
                 Backend backend)
    : config_(config),
      sources_(std::move(sources)),
      device_(backend.device ? std::move(backend.device) : kernels::make_cpu_device()),
      kernels_(backend.kernels ? std::move(backend.kernels) : make_kernels(config.model, threads)),
      map_(spec::make_stage_map(config.model, config.parallel)),
      channels_(channels_of(config, world.size())),
      training_(make_program(make_schedule(config, config.batch.global, world.size()), channels_)),
      evaluation_(make_evaluation(config, world.size(), channels_)),
      grid_(world, grid_shape(config, world.size()), specs(channels_)),
      private_before_arenas_(private_memory()),
      table_(spec::make_local_table(config.model, map_, grid_.at().pipeline, grid_.shape().tensor, grid_.at().tensor)),
      predicted_(predict_memory(config, map_, world.size())[grid_.at().pipeline]),
      parameters_(*device_, "parameters", predicted_.bytes[0]),
      gradients_(*device_, "gradients", predicted_.bytes[1]),
      optimizer_state_(*device_, "optimizer", predicted_.bytes[2]),
      activations_(*device_, "activations", predicted_.bytes[3]),
      scratch_(*device_, "scratch", predicted_.bytes[4]),
      snapshots_(*device_, "snapshot", predicted_.bytes[5], kernels::Arena::Memory::pinned),
      numbers_(*device_, "numbers", bytes_of_numbers(table_, grid_.shape())),
      weights_(parameters_.take(DType::fp32, table_.elements)),
      gradient_(gradients_.take(DType::fp32, table_.elements)),
      output_gradient_(take_output_gradient(table_, map_, gradients_)),
      snapshot_(take_snapshot(predicted_.bytes[5], snapshots_)),
      record_(numbers_.take(DType::fp64, kernels::StepRecord::cells)),
      stage_(environment(config, *kernels_, grid_), map_.of_stage[grid_.at().pipeline],
             model::parameter_views(table_, weights_, static_cast<int>(config.model.layers)),
             gradient_views(table_, gradient_, output_gradient_, static_cast<int>(config.model.layers)),
             slots_needed(config, world.size())[grid_.at().pipeline], activations_, scratch_),
      loss_(*kernels_, *device_, grid_, numbers_),
      reducer_(table_, gradient_, output_gradient_, *kernels_, grid_),
      norm_(table_, *kernels_, *device_, grid_, numbers_),
      optimizer_(config.optimizer, table_, *kernels_, optimizer_state_),
      batches_(make_batches(config, *sources_.training, grid_, config.batch.global, config.data.shuffle)),
      executor_({stage_, grid_, *device_, reducer_, loss_, world.activity(), [this] { finish_step(current_); }},
                config.model.sequence * config.batch.micro, most_microbatches(training_, evaluation_), activations_) {
  if (sources_.validation)
    held_out_.emplace(make_batches(config, *sources_.validation, grid_, config.run.evaluate_samples, true));
  world.agree([&] { set_state(origin); });
  for (kernels::Arena* arena : {&parameters_, &gradients_, &optimizer_state_, &activations_, &scratch_, &snapshots_, &numbers_})
    arena->seal();
}

void Trainer::set_state(const Origin& origin) {
  if (origin.checkpoint)
    load_state(*origin.checkpoint, state(), origin.moments, *device_);
  else if (origin.file)
    load_weights(*origin.file, table_, *device_, weights_);
  else
    initialize_weights(table_, config_.run.seed, *device_, weights_);
}

std::vector<const kernels::Arena*> Trainer::arenas() const {
  return {&parameters_, &gradients_, &optimizer_state_, &activations_, &scratch_, &snapshots_};
}

void Trainer::run_passes(std::int64_t step, Probe* probe) {
  current_ = step;
  grid_.world().activity().set_step(step);
  device_->zero(gradient_);
  if (output_gradient_) device_->zero(output_gradient_);
  // The gradient is the mean over the global batch's tokens, so the loss is scaled before the backward pass.
  executor_.train(training_, batches_, step, static_cast<float>(1 / tokens_of_step()), probe);
}

StepResult Trainer::step(std::int64_t step) {
  run_passes(step, nullptr);
  loss_.reduce(record_.slice(kernels::StepRecord::loss_cell, 1));
  kernels::StepRecord record;
  device_->download(&record, record_);  // the one wait of the host for the device
  return {record.loss / tokens_of_step(), record.norm, learning_rate(config_.optimizer, step)};
}

void Trainer::replay(std::int64_t step, Probe& probe) {
  replaying_ = true;
  run_passes(step, &probe);
  device_->synchronize();
  replaying_ = false;
}

double Trainer::evaluate() {
  const double tokens = static_cast<double>(config_.run.evaluate_samples * config_.model.sequence);
  executor_.evaluate(evaluation_.value(), held_out_.value(), 0);
  const kernels::View total = record_.slice(kernels::StepRecord::loss_cell, 1);
  loss_.reduce(total);
  double sum = 0;
  device_->download(&sum, total);
  return sum / tokens;
}

void Trainer::finish_step(std::int64_t step) {
  reducer_.finish();
  if (replaying_) return;
  const grid::Activity::Scope scope(grid_.world().activity(), grid::Work::optimizer_step);
  kernels_->clip(config_.optimizer.clip, norm_(gradient_), record_);
  optimizer_.update(step, record_, weights_, gradient_);
}

void Trainer::save(const std::string& path) { save_weights(path, map_, table_, *device_, weights_, grid_); }

std::string Trainer::differing_copies() { return train::differing_copies(table_, *device_, weights_, grid_); }

}  // namespace trireme::train
