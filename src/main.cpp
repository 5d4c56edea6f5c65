// Dispatch of subcommands.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/process.h"
#include "base/text.h"
#include "command/commands.h"
#include "command/version.h"
#include "grid/launcher.h"
#include "grid/world.h"

namespace {

using namespace trireme;

struct Command {
  std::string_view name;
  int (*run)(int, char**);
  std::string_view summary;
  bool parallel = false;  // runs on many ranks
};

constexpr std::array commands = {
    Command{"train", command::train, "Trains a model. Start it with mpiexec or srun.", true},
    Command{"check", command::check, "Says what a run would be: parameters, memory, FLOPs, traffic. It runs nothing."},
    Command{"prepare", command::prepare, "Makes token files of text."},
    Command{"schedule", command::schedule, "Shows a pipeline schedule, its bubble and its memory."},
    Command{"compare", command::compare, "Compares two runs, or a run and a reference."},
    Command{"checkpoint", command::checkpoint, "Shows, verifies, imports or exports a checkpoint."},
    Command{"trace", command::trace, "Shows where the time of a traced step went, in numbers and drawings."},
    Command{"plot", command::plot, "Draws loss, speed, gradient norm and memory of a run, or of several."},
};

std::string usage() {
  std::string text = "Usage: trireme COMMAND ...\n\nCommands, each of which has --help:\n";
  for (const Command& c : commands) text += fmt::format("  {:<10} {}\n", c.name, c.summary);
  return text + "\n  --version  says what this program was built with\n";
}

/// This program may be one of several that mpiexec started, also where it starts no MPI.
grid::LaunchedProcess this_process() {
  return grid::launched_process([](const char* variable) { return std::getenv(variable); });
}

/// A command of one process that mpiexec started several times: the copies would race for the same files.
void refuse_many(std::string_view name) {
  if (this_process().count > 1) base::refuse("error: trireme {} is one process: start it without mpiexec", name);
}

int dispatch(int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  if (name == "--help" || name == "-h" || name == "--version") {
    if (this_process().rank == 0) fmt::print("{}", name == "--version" ? command::version_text() : usage());
    return 0;
  }
  const auto found = std::find_if(commands.begin(), commands.end(), [&](const Command& c) { return c.name == name; });
  if (found != commands.end()) {
    if (!found->parallel) refuse_many(name);
    return found->run(argc - 1, argv + 1);
  }
  if (name.empty()) base::refuse("{}", usage());
  std::vector<std::string> names;
  for (const Command& c : commands) names.emplace_back(c.name);
  const auto nearest = base::nearest_words(name, names);
  base::refuse("trireme: unknown command '{}'{}\n{}", name,
               nearest.empty() ? "" : fmt::format("; did you mean {}?", base::alternatives(nearest)), usage());
}

}  // namespace

int main(int argc, char** argv) {
  base::set_up_process();
  try {
    const int status = dispatch(argc, argv);
    base::finish_output();
    return status;
  } catch (const grid::Agreed& end) {  // already said, by one rank
    return static_cast<int>(end.status);
  } catch (const base::Error& error) {  // once MPI runs, errors are agreed
    grid::say_as_one(error.what());
    return static_cast<int>(error.status());
  } catch (const std::exception& error) {
    base::print_error(std::ferror(stdout) ? "error: standard output: cannot write" : "trireme: " + base::words_of(error));
    return static_cast<int>(base::Exit::failure);
  }
}
