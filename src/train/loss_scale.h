// The factor on the loss in fp16, without which small gradients would become 0 (Micikevicius et al., 2018, arXiv 1710.03740,
// section 3.2): as large as the gradients allow, found while training.
#pragma once

#include <cstdint>
#include <optional>

#include "config/config.h"

namespace trireme::train {

/// A step whose gradients are not finite is skipped. After precision.hysteresis such steps the factor halves, down to
/// precision.minimum_scale, and again at each further one; after precision.growth_interval good steps in a row it doubles and the
/// hysteresis begins anew. With precision.loss_scale it stays. In fp32 and bf16 it is 1, and nothing is skipped.
class LossScale {
 public:
  /// What training goes on from.
  struct State {
    double scale = 1;                    // of the next step
    std::int64_t good_steps = 0;         // in a row, since it grew
    std::int64_t overflows_left = 0;     // until it halves
    std::int64_t skipped_at_lowest = 0;  // steps in a row that were skipped although it was as small as it may be
    std::int64_t skipped = 0;            // steps of the run
  };

  explicit LossScale(const config::Precision& precision);

  /// Whether gradients that are not finite make a step skipped, and do not end the run.
  bool skips() const { return skips_; }
  /// Of the next step.
  double scale() const { return skips_ ? state_->scale : 1; }
  /// Steps of the run that were skipped so far, by an earlier start in fp16 too.
  std::int64_t skipped() const { return state_ ? state_->skipped : 0; }
  /// Counts a step that was done with scale(), and forms that of the next one.
  void update(bool overflow);
  /// Whether precision.maximum_skips steps in a row were skipped at the smallest scale.
  bool exhausted() const { return skips_ && state_->skipped_at_lowest >= precision_.maximum_skips; }

  /// For a checkpoint; nothing where the run has never computed in fp16.
  const std::optional<State>& state() const { return state_; }
  /// Of the checkpoint that a run goes on from. A fixed scale is the configuration's.
  void set(const State& state);

 private:
  bool is_fixed() const { return precision_.loss_scale > 0; }
  double lowest() const { return is_fixed() ? precision_.loss_scale : precision_.minimum_scale; }
  void back_off();
  void grow();

  config::Precision precision_;
  bool skips_;
  std::optional<State> state_;
};

}  // namespace trireme::train
