// trireme compare A B [--tolerance FILE] [--junit FILE]
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "command/commands.h"
#include "command/outputs.h"
#include "view/comparison.h"

namespace trireme::command {

int compare(int argc, char** argv) {
  std::string a, b, tolerance, junit;
  CLI::App app(
      "Compares two runs, or a run and a reference, quantity by quantity and step by step. Ends with 0 when all pass, 3 when\n"
      "any fails: a difference above the limit, a number that is not finite, a step that only one side has.",
      "trireme compare");
  app.add_option("A", a, "a run's folder, a reference's (validation/cases/NAME), or a .csv file with a column step")->required();
  app.add_option("B", b, "another; if neither is a reference's folder, A is what B is held against")->required();
  app.add_option(
      "--tolerance", tolerance,
      "limits (TOML): [quantity] with relative, absolute or both, and a reason; default: the reference's tolerance.toml; "
      "without one loss, grad_norm, learning_rate and validation_loss must be equal");
  app.add_option("--junit", junit, "write the verdicts into this file as JUnit XML");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    base::refuse("trireme compare: {}; trireme compare --help says more", error.what());
  }
  const view::ComparedFiles files = view::find_compared(a, b, tolerance);
  check_outputs({files.reference, files.ours, files.tolerance}, {junit});
  const std::vector<view::Check> checks = view::compare_files(files);
  fmt::print("{}", table_text(checks));
  if (!junit.empty()) base::write_file_atomically(junit, junit_xml(checks, "trireme compare"));
  return static_cast<int>(any_failed(checks) ? base::Exit::mismatch : base::Exit::done);
}

}  // namespace trireme::command
