#include "train/batches.h"

namespace trireme::train {

Batches::Batches(const data::TokenSource& source, data::Sampler sampler, BatchPlan plan, std::int64_t sequence)
    : source_(source), sampler_(sampler), plan_(plan), sequence_(sequence), tokens_(sequence + 1) {}

std::int64_t Batches::first_sample(std::int64_t step, int microbatch) const {
  return step * plan_.global + (plan_.data_rank * plan_.microbatches + microbatch) * plan_.micro;
}

void Batches::load(std::int64_t step, int microbatch, std::int32_t* inputs, std::int32_t* targets) {
  const std::int64_t first = first_sample(step, microbatch), b = plan_.micro;
  for (std::int64_t j = 0; j < b; ++j) {
    source_.sample(sampler_.sample_at(first + j), tokens_.data());
    for (std::int64_t i = 0; i < sequence_; ++i) {
      inputs[i * b + j] = tokens_[i];
      targets[i * b + j] = tokens_[i + 1];
    }
  }
}

Batches make_batches(const config::Config& config, const layout::Program& program, int data_rank, const data::TokenSource& source,
                     Draw draw) {
  return {source, data::Sampler(source.samples(), draw.samples, config.run.seed, draw.shuffle),
          BatchPlan{draw.samples, config.batch.micro, program.schedule.microbatches, data_rank}, config.model.sequence};
}

}  // namespace trireme::train
