#include "train/batches.h"

namespace trireme::train {

Batches::Batches(const data::TokenSource& source, data::Sampler sampler, BatchPlan plan, std::int64_t sequence)
    : source_(source), sampler_(sampler), plan_(plan), sequence_(sequence), direct_(plan.micro * (sequence + 1)) {}

std::int64_t Batches::first_sample(std::int64_t step, int microbatch) const {
  return step * plan_.global + (plan_.data_rank * plan_.microbatches + microbatch) * plan_.micro;
}

/// The samples of one microbatch into tokens [b, s + 1].
void Batches::read(std::int64_t step, int microbatch, std::int32_t* tokens) const {
  const std::int64_t first = first_sample(step, microbatch);
  for (std::int64_t j = 0; j < plan_.micro; ++j) source_.sample(sampler_.sample_at(first + j), tokens + j * (sequence_ + 1));
}

void Batches::read_ahead(std::int64_t step) {
  const std::int64_t microbatch = plan_.micro * (sequence_ + 1);
  ahead_step_ = -1;
  ahead_.resize(static_cast<std::size_t>(plan_.microbatches * microbatch));
  for (int k = 0; k < plan_.microbatches; ++k) read(step, k, ahead_.data() + k * microbatch);
  ahead_step_ = step;
}

void Batches::load(std::int64_t step, int microbatch, std::int32_t* inputs, std::int32_t* targets) {
  const std::int64_t b = plan_.micro, length = sequence_ + 1;
  const bool is_ahead = step == ahead_step_;
  if (!is_ahead) read(step, microbatch, direct_.data());
  const std::int32_t* const tokens = is_ahead ? ahead_.data() + microbatch * b * length : direct_.data();
  for (std::int64_t j = 0; j < b; ++j)
    for (std::int64_t i = 0; i < sequence_; ++i) {
      inputs[i * b + j] = tokens[j * length + i];
      targets[i * b + j] = tokens[j * length + i + 1];
    }
}

Batches make_batches(const config::Config& config, const layout::Program& program, int data_rank, const data::TokenSource& source,
                     Draw draw) {
  return {source, data::Sampler(source.samples(), draw.samples, config.run.seed, draw.shuffle),
          BatchPlan{draw.samples, config.batch.micro, program.schedule.microbatches, data_rank}, config.model.sequence};
}

}  // namespace trireme::train
