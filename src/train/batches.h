// The tokens of a rank's microbatches.
#pragma once

#include <cstdint>
#include <vector>

#include "config/config.h"
#include "data/sampler.h"
#include "data/source.h"
#include "layout/layout.h"

namespace trireme::train {

/// How a step's B samples are shared out: data rank r owns microbatches r m .. (r+1) m - 1 of the step, b samples each.
struct BatchPlan {
  std::int64_t global;        // B
  std::int64_t micro;         // b
  std::int64_t microbatches;  // m, of one pipeline
  std::int64_t data_rank;
};

class Batches {
 public:
  /// Refers to `source`. Step k takes global positions k B .. k B + B - 1.
  Batches(const data::TokenSource& source, data::Sampler sampler, BatchPlan plan, std::int64_t sequence);

  /// Global position of sample 0 of this rank's microbatch i in step k.
  std::int64_t first_sample(std::int64_t step, int microbatch) const;
  /// The sample at global position `position`.
  std::int64_t sample_at(std::int64_t position) const { return sampler_.sample_at(position); }
  /// Reads the tokens of all microbatches of `step` into memory, so that a fault in a file is known before the step begins.
  /// Throws base::Error: bad_input for an id outside the vocabulary, failure for a file that cannot be read; then nothing of the
  /// step is there.
  void read_ahead(std::int64_t step);
  /// inputs, targets [s, b]: position i of sample j at i b + j. From memory where the step was read ahead, else from the source.
  void load(std::int64_t step, int microbatch, std::int32_t* inputs, std::int32_t* targets);

 private:
  void read(std::int64_t step, int microbatch, std::int32_t* tokens) const;

  const data::TokenSource& source_;
  data::Sampler sampler_;
  BatchPlan plan_;
  std::int64_t sequence_;
  std::int64_t ahead_step_ = -1;      // the step in ahead_; -1: none
  std::vector<std::int32_t> ahead_;   // [m, b, s + 1]
  std::vector<std::int32_t> direct_;  // [b, s + 1], of one microbatch
};

/// Which samples a pass over the whole program takes.
struct Draw {
  std::int64_t samples;  // of a step: the global batch
  bool shuffle;
};
/// Those of data rank `data_rank`, for the microbatches of `program`.
Batches make_batches(const config::Config& config, const layout::Program& program, int data_rank, const data::TokenSource& source,
                     Draw draw);

}  // namespace trireme::train
