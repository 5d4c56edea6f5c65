#include "train/updater.h"

#include "base/alignment.h"

namespace trireme::train {
namespace {

using kernels::StepOutcome;
using kernels::View;
using spec::MemoryClass;
using spec::State;

/// The output layer's own gradient where one stage holds both ends of the tied embedding; else nothing.
View take_output_gradient(const layout::Layout& layout, const spec::LocalTable& table, kernels::Arena& arena) {
  return layout.shape.pipeline == 1 ? arena.take(type_of(State::gradient), tied_elements(table)) : View{};
}

model::StageParameters gradient_views(const spec::LocalTable& table, View gradient, View output, int layers) {
  model::StageParameters views = model::parameter_views(table, gradient, layers);
  if (output) views.output = output;
  return views;
}

/// Of a step's record and what its norm is formed from, with what alignment adds.
std::int64_t bytes_of_record(Replica& replica) {
  return bytes_of(StepOutcome::type) * GradientNorm::slots(replica) + 2 * base::buffer_alignment;
}

}  // namespace

Updater::Updater(const config::Config& config, const layout::Layout& layout, Replica& replica)
    : settings_(config.optimizer),
      loss_scale_(config.precision),
      replica_(replica),
      gradient_arena_(make_arena(replica.device(), layout.memory[replica.grid().at().pipeline], MemoryClass::gradients)),
      optimizer_arena_(make_arena(replica.device(), layout.memory[replica.grid().at().pipeline], MemoryClass::optimizer)),
      record_arena_(replica.device(), "record", bytes_of_record(replica)),
      gradient_(gradient_arena_.take(type_of(State::gradient), replica.table().elements)),
      output_gradient_(take_output_gradient(layout, replica.table(), gradient_arena_)),
      record_(record_arena_.take(StepOutcome::type, StepOutcome::cells)),
      views_(gradient_views(replica.table(), gradient_, output_gradient_, static_cast<int>(config.model.layers))),
      reducer_(replica.table(), gradient_, output_gradient_, replica.kernels(), replica.grid()),
      norm_(replica, record_arena_),
      optimizer_(config.optimizer, replica.table(), replica.kernels(), optimizer_arena_) {}

void Updater::begin() {
  replica_.device().zero(gradient_);
  if (output_gradient_) replica_.device().zero(output_gradient_);
}

void Updater::update(std::int64_t step) {
  scale_of_update_ = loss_scale_.scale();
  replica_.kernels().clip(settings_.clip, scale_of_update_, norm_(gradient_), record_);
  optimizer_.update({step, step + 1 - loss_scale_.skipped()}, record_, {replica_.weights(), replica_.weight_copy()}, gradient_);
}

TrainingState Updater::state() {
  return {replica_.table(), replica_.weights(), optimizer_.first_moment(), optimizer_.second_moment(), loss_scale_};
}

std::vector<ClassArena> Updater::arenas() const {
  return {{MemoryClass::gradients, &gradient_arena_}, {MemoryClass::optimizer, &optimizer_arena_}};
}

void Updater::seal() {
  for (kernels::Arena* arena : {&gradient_arena_, &optimizer_arena_, &record_arena_}) arena->seal();
}

}  // namespace trireme::train
