// What a run records for other programs: metrics.csv, a row a logged step, and summary.json, a row a rank.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "train/trainer.h"

namespace trireme::run {

struct StepRecord {
  std::int64_t step = 0;  // counted from 1
  std::int64_t samples = 0, tokens = 0;
  train::StepResult result;
  std::optional<double> validation_loss;
  double loss_scale = 1;
  double seconds = 0;  // of this step
  double tokens_per_second = 0;
  double model_tflops = 0, hardware_tflops = 0;  // a rank
  std::int64_t peak_memory_bytes = 0;            // resident, the largest of the ranks
  std::int64_t skipped = 0;
  int threads = 1;
};

/// Appends rows, each at once on disk. Reals in the shortest form that reads back the same.
class MetricsFile {
 public:
  /// Goes on after the row of `step`: later rows, and one that was cut by a crash, are removed. 0: an empty file.
  MetricsFile(std::string path, std::int64_t step);
  /// Throws base::Error naming the file when the row could not be written.
  void append(const StepRecord& record);

 private:
  std::string path_;
  std::ofstream file_;
};

/// What every rank knows of itself at the end, as columns of equal meaning on all ranks.
struct RankColumn {
  std::string group, name;  // e.g. "bytes", "tp_all_reduce"
  double value;             // this rank's
};
struct RankTable {
  std::vector<RankColumn> columns;
  std::vector<std::vector<double>> values;  // [ranks][columns]
};

/// This process, which no other part of the program knows.
struct ProcessFacts {
  double seconds = 0;  // of the whole run so far
  // machine.h's private_memory: before the arenas were taken, after the first step, after the last one, after the last save.
  std::int64_t private_before = 0, private_first_step = 0, private_last_step = 0, private_end = 0;
};

/// Every rank; all return the same.
RankTable gather_ranks(train::Trainer& trainer, const kernels::Arena& snapshot, const ProcessFacts& process);

/// Text of summary.json: the run, as its last step left it, and a row a rank.
std::string summary_json(const RankTable& table, const config::Config& config, const grid::Shape& shape, const StepRecord& last);

}  // namespace trireme::run
