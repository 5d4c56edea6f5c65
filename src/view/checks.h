// Verdicts of a comparison: one check a quantity, printed as a table and written as JUnit XML. Shared by `trireme compare` and
// by validation/validate.cpp.
#pragma once

#include <string>
#include <vector>

namespace trireme::view {

enum class Verdict { pass, fail, skipped };

/// One line of the table. Numbers are texts already, so that checks of other things than metrics fit.
struct Check {
  std::string subject = "", quantity = "";   // e.g. the run's folder, "loss"
  std::string steps = "";                    // "1-6"
  std::string reference = "", ours = "";     // values at the first failing step, else at the largest relative difference
  std::string absolute = "", relative = "";  // largest differences, "2.1e-07 at 4"
  std::string limit = "";                    // "rel 2e-06", "exact"
  Verdict verdict = Verdict::fail;           // what was not looked at is no pass
  std::string failure = "";                  // what is wrong and where, or why it was skipped; empty on a pass
  std::string reason = "";                   // of the limit
};

/// Aligned columns with a heading; the limits' reasons as numbered notes; then "N checks, N passed, N failed, N skipped".
std::string table_text(const std::vector<Check>& checks);

/// JUnit's XML, a test case a check, for continuous integration. Characters that XML 1.0 cannot carry become '?'.
std::string junit_xml(const std::vector<Check>& checks, const std::string& suite);

bool any_failed(const std::vector<Check>& checks);

}  // namespace trireme::view
