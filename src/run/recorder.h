// What a run tells while it runs: a row a step, a line a logged step, the summary at its end. A result that cannot be written
// does not cost the run: it is said once, and a run that is done has status failure then.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "folder/run_folder.h"
#include "run/records.h"
#include "run/start.h"

namespace trireme::run {

/// What was measured before the model's memory was taken.
struct Machine {
  double begin = 0;                 // of the run, on the clock of base::now()
  double peak_flops = 0;            // a rank: matrix products, the mean over the ranks
  std::int64_t private_memory = 0;  // machine.h's, when grid and kernels were made and no arena taken
};

/// Every rank calls every member; `folder` on rank 0 only.
class Recorder {
 public:
  Recorder(grid::World& world, const config::Config& config, const Start& start, const Machine& machine,
           folder::RunFolder* folder);

  /// Opens metrics.csv, and says which of its rows an earlier start has lost; what fails is agreed.
  void open();
  /// The record of step `step` >= 1, which took `seconds`, with its rates.
  StepRecord record(std::int64_t step, const train::StepResult& result, double seconds);
  /// Writes its row, and prints its line if it is a step that is logged.
  void log(const StepRecord& record);
  /// Writes the validation loss of `record` into its row, and prints it.
  void complete(const StepRecord& record);
  /// After the last step and before the last save: what private memory has come to.
  void last_step_done();
  /// summary.json, and the table of where time went. `snapshot`: the memory that saves take.
  void summarize(train::Trainer& trainer, const kernels::Arena& snapshot, const StepRecord& last);
  /// Rank 0: to standard output and log.txt; to log.txt alone.
  void print(const std::string& text) const;
  void note(const std::string& text) const;

  /// Steps recorded since this start.
  std::int64_t steps() const { return std::ssize(seconds_); }
  /// Rank 0, at the end: why a result is not on disk; empty when all are.
  std::string lost() const;

 private:
  bool logged(const StepRecord& record) const;
  void distrust_peak(const StepRecord& record);
  RunFacts facts(const StepRecord& last, std::int64_t peak_memory) const;

  grid::World& world_;
  const config::Config& config_;
  const Start& start_;
  Machine machine_;
  folder::RunFolder* folder_;
  std::optional<MetricsFile> metrics_;
  std::string lost_result_;
  std::vector<double> seconds_;  // of each step since this start
  double peak_flops_;            // a rank, as measured; 0: it cannot be right
  std::int64_t private_first_step_ = 0, private_last_step_ = 0;
  double pace_ = 0;  // seconds a step, without evaluation; the first step left out once there are others
};

}  // namespace trireme::run
