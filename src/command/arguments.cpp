#include "command/arguments.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace trireme::command {

namespace {

/// A first word that is none of the app's own commands
void refuse_unknown_command(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  if (argc < 2 || names.empty() || argv[1][0] == '-' || std::find(names.begin(), names.end(), argv[1]) != names.end()) return;
  const auto nearest = base::nearest_words(argv[1], names);
  base::refuse("error: {0}: unknown command '{1}'{2}; {0} --help lists what it takes", app.get_name(), argv[1],
               nearest.empty() ? "" : fmt::format(": did you mean {}?", base::alternatives(nearest)));
}

}  // namespace

std::string parse(CLI::App& app, int argc, char** argv) {
  refuse_unknown_command(app, argc, argv);
  try {
    app.parse(argc, argv);
    return {};
  } catch (const CLI::CallForHelp&) {
    return app.help();
  } catch (const CLI::CallForVersion& text) {  // a flag that prints a text of its own
    return text.what();
  } catch (const CLI::ParseError& error) {
    base::refuse("error: {0}: {1}; {0} --help lists what it takes", app.get_name(), error.what());
  }
}

void refuse_second_values(const std::vector<std::string>& values) {
  std::map<std::string, std::string> first;
  for (const std::string& value : values) {
    const std::string key(base::trimmed(value.substr(0, value.find('='))));
    const auto [before, is_new] = first.emplace(key, value);
    if (!is_new && before->second != value)
      base::refuse("command line: error: {} has two values: {} and {}; keep one of them", key, before->second, value);
  }
}

}  // namespace trireme::command
