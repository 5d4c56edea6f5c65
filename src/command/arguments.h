// What all subcommands do with their words.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace trireme::command {

/// Reads argv into the options of `app`. Returns the help text when that is asked for, else an empty text. Throws base::Error
/// (bad_input) for words that do not fit, with how to get help.
std::string parse(CLI::App& app, int argc, char** argv);

}  // namespace trireme::command
