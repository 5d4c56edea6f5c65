#include "train/loss_scale.h"

#include <algorithm>

namespace trireme::train {

LossScale::LossScale(const config::Precision& precision) : precision_(precision), skips_(precision.compute == "fp16") {
  if (skips_)
    state_ = {.scale = is_fixed() ? precision.loss_scale : precision.initial_scale, .overflows_left = precision.hysteresis};
}

void LossScale::set(const State& state) {
  state_ = state;
  if (is_fixed()) state_->scale = precision_.loss_scale;
}

void LossScale::update(bool overflow) {
  if (!skips_) return;
  if (!overflow) return grow();
  ++state_->skipped;
  state_->good_steps = 0;
  if (state_->scale <= lowest()) ++state_->skipped_at_lowest;
  back_off();
}

void LossScale::back_off() {
  state_->overflows_left = std::max<std::int64_t>(state_->overflows_left - 1, 0);
  if (state_->overflows_left == 0 && !is_fixed()) state_->scale = std::max(state_->scale / 2, lowest());
}

void LossScale::grow() {
  constexpr double largest = 0x1p100;  // far beyond what any gradient allows, and finite in fp32 whatever it is multiplied by
  state_->skipped_at_lowest = 0;
  if (++state_->good_steps < precision_.growth_interval) return;
  state_->good_steps = 0;
  state_->overflows_left = precision_.hysteresis;
  if (!is_fixed()) state_->scale = std::min(2 * state_->scale, std::max(largest, state_->scale));
}

}  // namespace trireme::train
