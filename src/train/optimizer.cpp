#include "train/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "spec/state.h"

namespace trireme::train {

double learning_rate(const config::Optimizer& o, std::int64_t step) {
  const double k = static_cast<double>(step), warmup = static_cast<double>(o.warmup_steps);
  if (step < o.warmup_steps) return o.learning_rate * (k + 1) / warmup;
  if (o.decay_steps == 0) return o.learning_rate;
  const double span = static_cast<double>(o.decay_steps) - warmup;
  const double progress = std::min(1.0, (k + 1 - warmup) / span);
  return o.min_learning_rate + (o.learning_rate - o.min_learning_rate) / 2 * (1 + std::cos(std::numbers::pi * progress));
}

Optimizer::Optimizer(const config::Optimizer& settings, const spec::LocalTable& table, kernels::Kernels& kernels,
                     kernels::Arena& arena)
    : settings_(settings),
      table_(table),
      kernels_(kernels),
      first_moment_(arena.take(type_of(spec::State::first_moment), table.elements)),
      second_moment_(arena.take(type_of(spec::State::second_moment), table.elements)) {}

void Optimizer::update(const Moment& moment, kernels::View record, Weights weights, kernels::View gradients) {
  const double k = static_cast<double>(moment.number);
  kernels::AdamW adamw{.learning_rate = static_cast<float>(learning_rate(settings_, moment.step)),
                       .beta1 = settings_.beta1,
                       .beta2 = settings_.beta2,
                       .epsilon = static_cast<float>(settings_.epsilon),
                       .weight_decay = static_cast<float>(settings_.weight_decay),
                       .correction1 = static_cast<float>(1 - std::pow(settings_.beta1, k)),
                       .correction2 = static_cast<float>(1 - std::pow(settings_.beta2, k)),
                       .record = record};
  const auto update_range = [&](std::int64_t first, std::int64_t elements) {
    const auto part = [&](kernels::View buffer) { return buffer ? buffer.slice(first, elements) : buffer; };
    kernels_.adamw(adamw, part(weights.master), part(gradients), part(first_moment_), part(second_moment_), part(weights.copy));
  };
  update_range(0, table_.decayed);
  adamw.weight_decay = 0;
  update_range(table_.decayed, table_.elements - table_.decayed);
}

}  // namespace trireme::train
