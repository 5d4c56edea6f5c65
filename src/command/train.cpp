// trireme train INPUT [key=value ...]
#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file.h"
#include "base/process.h"
#include "command/arguments.h"
#include "command/commands.h"
#include "command/version.h"
#include "config/check.h"
#include "config/describe.h"
#include "grid/world.h"
#include "run/run.h"

namespace trireme::command {
namespace {

struct Arguments {
  std::string input;
  std::vector<std::string> overrides;
  bool weights_only = false;
  std::string help;  // the text to print instead, when asked for
};

Arguments read_arguments(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Trains a model. It runs under mpiexec or srun, one process for each rank; d = ranks / (t p).", "trireme train");
  app.add_option("INPUT", arguments.input, "the input file (TOML)")->required();
  app.add_option("key=value", arguments.overrides, "values that win over those of the file, such as run.steps=20");
  app.add_flag("--weights-only", arguments.weights_only,
               "go on from the weights and the step of the checkpoint alone; the moments of the optimizer start at zero");
  app.set_version_flag("--help-markdown", config::keys_markdown(), "print the keys of the input file as Markdown");
  app.footer("Keys of the input file and of the command line:\n\n" + config::keys_text());
  arguments.help = parse(app, argc, argv);
  refuse_second_values(arguments.overrides);
  if (arguments.help.empty() && (arguments.input.empty() || arguments.input.find('=') != std::string::npos))
    base::refuse("error: trireme train: '{}' is no input file; trireme train INPUT [key=value ...]", arguments.input);
  return arguments;
}

/// One rank opens the input file; all read the same text.
config::Resolved read(grid::World& world, const Arguments& arguments) {
  std::string text;
  world.agree([&] {
    if (world.rank() == 0) text = base::read_file(arguments.input);
  });
  world.everyone().broadcast(text);
  config::Resolved resolved;
  world.agree([&] {
    resolved = config::read_config(arguments.input, text, arguments.overrides);
    config::check_layout(resolved, world.size());
  });
  return resolved;
}

std::string banner(int argc, char** argv) {
  std::string text = version_text() + "command: trireme";
  for (int k = 0; k < argc; ++k) text += fmt::format(" {}", argv[k]);
  return text + "\n";
}

}  // namespace

int train(int argc, char** argv) {
  const run::Signals signals;  // before MPI starts: that may take long, and a signal may come
  grid::World world;
  try {
    Arguments arguments;
    world.agree([&] { arguments = read_arguments(argc, argv); });
    if (!arguments.help.empty()) {
      if (world.rank() == 0) std::fputs(arguments.help.c_str(), stdout);  // main says whether it arrived
      return 0;
    }
    const config::Resolved resolved = read(world, arguments);
    return static_cast<int>(run::run_training(world, resolved, banner(argc, argv), signals, arguments.weights_only));
  } catch (const grid::Agreed&) {
    throw;
  } catch (const std::exception& error) {
    world.abort(base::Exit::failure, base::words_of(error));  // one rank alone: the others may be waiting for it
  }
}

}  // namespace trireme::command
