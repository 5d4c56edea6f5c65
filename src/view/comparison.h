// Metrics against a reference, quantity by quantity and step by step. Pure but for the last two.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "view/checks.h"

namespace trireme::view {

/// How far a quantity may be from its reference: |difference| <= absolute, or <= relative |reference|. With neither: equal.
struct Tolerance {
  std::string quantity;
  std::optional<double> relative, absolute;
  std::string reason;
};

/// A tolerance file: [quantity] with relative, absolute or both, and a reason; `single` is a remark on the reference. Throws
/// base::Error(bad_input) with all mistakes: a limit without a reason, an unknown key, a negative limit, nothing named.
std::vector<Tolerance> parse_tolerance(const std::string& text, const std::string& path);

/// What two runs are compared by without a file: loss, grad_norm, learning_rate, validation_loss, equal.
std::vector<Tolerance> exact_tolerance();

/// What it means that runs differ where they were compared for equality, and what to do: sentences for the end of the table.
std::string note_on_equality();

using Series = std::map<std::int64_t, double>;  // step -> value; steps without a value are not there
using Metrics = std::map<std::string, Series>;  // by column

/// The columns of `quantities` in a CSV file that has a column `step`; an absent column has an empty series. Cells are not
/// quoted; lines may end in CR LF. Throws base::Error(bad_input) with file and line of the first row that will not do.
Metrics parse_metrics(const std::string& text, const std::string& path, const std::vector<Tolerance>& quantities);

/// The same of a file whose damaged rows are left out: `faults` has a sentence for each, with file and line.
struct MetricsText {
  Metrics metrics;
  std::vector<std::string> faults;
};
MetricsText read_metrics(const std::string& text, const std::string& path, const std::vector<Tolerance>& quantities);

/// Fails on a difference above the limit, on a number that is not finite (on both sides too), and on a step that only one side
/// has. Without any value on both sides it fails.
Check compare_series(const Series& reference, const Series& ours, const Tolerance& tolerance, const std::string& subject);

/// What a comparison reads, and whom its verdicts are about.
struct ComparedFiles {
  std::string reference, ours;  // .csv
  std::string tolerance;        // empty: equality
  std::string subject;          // the name of ours
};

/// `a` and `b`: a run's folder (metrics.csv), a reference's folder (reference.csv), or a .csv file. The one that is a reference
/// is it; otherwise `a` is. An empty `tolerance` means the reference folder's tolerance.toml, or equality without one.
/// Throws base::Error(bad_input) when something is not there.
ComparedFiles find_compared(const std::string& a, const std::string& b, const std::string& tolerance);

/// A check a quantity. Throws base::Error(bad_input) when a file is malformed.
std::vector<Check> compare_files(const ComparedFiles& files);

}  // namespace trireme::view
