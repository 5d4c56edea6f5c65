// What all subcommands do with their words.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace trireme::command {

/// Reads argv into the options of `app`. Returns the help text when that is asked for, else an empty text. Throws base::Error
/// (bad_input) for words that do not fit, with how to get help.
std::string parse(CLI::App& app, int argc, char** argv);

/// Refuses two "key=value" of one key: the last would win, and nobody would notice. Two equal ones leave nothing to notice.
void refuse_second_values(const std::vector<std::string>& values);

}  // namespace trireme::command
