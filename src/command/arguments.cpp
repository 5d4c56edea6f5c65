#include "command/arguments.h"

#include <CLI/CLI.hpp>

#include "base/error.h"

namespace trireme::command {

std::string parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return {};
  } catch (const CLI::CallForHelp&) {
    return app.help();
  } catch (const CLI::ParseError& error) {
    base::refuse("error: {0}: {1}; {0} --help lists what it takes", app.get_name(), error.what());
  }
}

}  // namespace trireme::command
