// The subcommands. Each takes its own words (argv[0] is its name), and returns or throws the exit status of the program.
#pragma once

namespace trireme::command {

int train(int argc, char** argv);
int prepare(int argc, char** argv);
int check(int argc, char** argv);
int schedule(int argc, char** argv);
int compare(int argc, char** argv);
int checkpoint(int argc, char** argv);
int trace(int argc, char** argv);
int plot(int argc, char** argv);

}  // namespace trireme::command
