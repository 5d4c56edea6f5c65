// The loss of held-out samples: forward passes of a replica alone, without gradients.
#pragma once

#include "config/config.h"
#include "train/batches.h"
#include "train/executor.h"

namespace trireme::train {

class Evaluator {
 public:
  /// `source`: the held-out samples; config.run.evaluate_samples of them are drawn, once, from all. The others outlive this too;
  /// `executor` runs passes of `replica`.
  Evaluator(const config::Config& config, const layout::Layout& layout, const data::TokenSource& source, Replica& replica,
            PipelineExecutor& executor);

  /// Reads them into memory, for all evaluations. Throws base::Error, as Batches::read_ahead. Any rank, alone.
  void read_ahead();
  /// Their mean loss in nats a token; no dropout. Every rank; all return the same.
  double operator()();

 private:
  const layout::Program& program_;
  Replica& replica_;
  PipelineExecutor& executor_;
  double tokens_;
  Batches batches_;
  Loss loss_;
};

}  // namespace trireme::train
