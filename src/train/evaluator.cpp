#include "train/evaluator.h"

namespace trireme::train {

Evaluator::Evaluator(const config::Config& config, const layout::Layout& layout, const data::TokenSource& source,
                     Replica& replica, PipelineExecutor& executor)
    : program_(layout.evaluation.value()),
      replica_(replica),
      executor_(executor),
      tokens_(static_cast<double>(config.run.evaluate_samples * config.model.sequence)),
      batches_(make_batches(config, program_, replica.grid().at().data, source,
                            {.samples = config.run.evaluate_samples, .shuffle = true})),
      loss_(replica) {}

void Evaluator::read_ahead() {
  if (executor_.takes_tokens()) batches_.read_ahead(0);
}

double Evaluator::operator()() {
  executor_.evaluate(program_, batches_, 0, loss_);
  double sum = 0;
  replica_.device().download(&sum, loss_.reduce());
  return sum / tokens_;
}

}  // namespace trireme::train
