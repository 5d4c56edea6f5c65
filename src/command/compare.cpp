// trireme compare A B [--tolerance FILE] [--junit FILE]
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "command/arguments.h"
#include "command/commands.h"
#include "command/outputs.h"
#include "view/comparison.h"

namespace trireme::command {

int compare(int argc, char** argv) {
  std::string a, b, tolerance, junit;
  CLI::App app(
      "Compares two runs, or a run and a reference, quantity by quantity and step by step. It ends with 0 when everything is\n"
      "within the limits. It ends with 3 when a difference is above its limit, a number is not finite, or a step is missing.",
      "trireme compare");
  app.add_option("A", a, "the folder of a run, a reference (validation/cases/NAME), or a .csv file with a column named step")
      ->required();
  app.add_option("B", b, "what to compare it with. If neither is a reference, B is judged by A")->required();
  app.add_option(
      "--tolerance", tolerance,
      "a TOML file of limits: for each [quantity] relative, absolute or both, and a reason. Default: tolerance.toml of the "
      "reference; without a reference loss, grad_norm, learning_rate and validation_loss must be equal");
  app.add_option("--junit", junit, "also write the verdicts into this .xml file, in JUnit's form");
  const std::string help = parse(app, argc, argv);
  if (!help.empty()) {
    fmt::print("{}", help);
    return 0;
  }
  const view::ComparedFiles files = view::find_compared(a, b, tolerance);
  check_outputs({files.reference, files.ours, files.tolerance}, {{junit, base::junit_report}});
  const std::vector<view::Check> checks = view::compare_files(files);
  if (!junit.empty()) write_output(junit, junit_xml(checks, "trireme compare"));
  fmt::print("{}", table_text(checks));
  if (any_failed(checks) && files.tolerance.empty()) fmt::print("{}", view::note_on_equality());
  return static_cast<int>(any_failed(checks) ? base::Exit::mismatch : base::Exit::done);
}

}  // namespace trireme::command
