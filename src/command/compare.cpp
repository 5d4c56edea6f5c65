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
  app.add_option("--junit", junit, "also write the verdicts into this file, as JUnit XML");
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
