// What a run records for other programs: metrics.csv, a row a step, and summary.json, a row a rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "folder/appended_file.h"
#include "run/sources.h"
#include "train/trainer.h"

namespace trireme::run {

struct StepRecord {
  std::int64_t step = 0;  // counted from 1
  std::int64_t samples = 0, tokens = 0;
  train::StepResult result;
  std::optional<double> validation_loss;
  double seconds = 0;  // of this step
  double tokens_per_second = 0;
  double model_tflops = 0, hardware_tflops = 0;  // a rank
  std::int64_t peak_memory_bytes = 0;            // resident, the largest of the ranks
  int threads = 1;
};

/// What an earlier start left of metrics.csv, as far as it is of use.
struct KeptRows {
  std::string rows;          // of steps up to the one that the run goes on from, rising
  std::int64_t dropped = 0;  // lines of it that are no rows
  std::string missing;       // steps up to it without a row: "5 to 7, 9"; empty: none
};
/// `text`: the file. A row has a cell a column, and step x `batch` samples; the rows of later steps are no loss.
KeptRows kept_rows(const std::string& text, std::int64_t step, std::int64_t batch);

/// Whether the row of `step` is in the text of a metrics.csv, and without a validation loss.
bool lacks_validation(const std::string& metrics, std::int64_t step);

/// Appends rows, each at once on disk or, while the disk is full, as soon as it no longer is. Reals in the shortest form that
/// reads back the same.
class MetricsFile {
 public:
  /// Begins a file with the rows that are kept.
  MetricsFile(const std::string& path, const std::string& rows);
  void append(const StepRecord& record);
  /// Writes the validation loss of `record` into its row, which lacks it. False when the row is not in the file.
  bool complete(const StepRecord& record);
  /// Why the last rows are not in the file; empty when they are.
  const std::string& fault() const { return file_->fault(); }

 private:
  std::string path_;
  std::optional<folder::AppendedFile> file_;
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

/// The steps of one start. The first one, which also warms up, is left out of all but `count` where there are others.
struct StepTimes {
  std::int64_t count = 0;
  double median = 0, least = 0, most = 0;  // seconds a step
  double total = 0;                        // seconds, without evaluations and saves
};
/// `seconds` of each step, in order; at least one.
StepTimes step_times(std::vector<double> seconds);

/// The run as a whole, as its last start leaves it.
struct RunFacts {
  StepRecord last;
  StepTimes times;
  std::int64_t peak_memory_bytes = 0;  // resident, the largest of the ranks
  std::vector<std::string> hosts;      // each once, in the order of their ranks
  int threads = 1;                     // a rank
};

/// Text of entropy.json: {"name": ..., "nats": ...}; `plot` draws it beside the losses.
std::string entropy_json(const Entropy& entropy);

/// Text of summary.json: the run, and a row a rank.
std::string summary_json(const RankTable& table, const config::Config& config, const grid::Shape& shape, const RunFacts& facts);

}  // namespace trireme::run
