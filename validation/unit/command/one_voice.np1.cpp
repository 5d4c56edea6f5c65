// What ends the program before MPI is started, under mpiexec: all processes end alike, and one of them speaks. Oracle: how often
// the words are printed, counted over all processes.
#include <memory>

#include <gtest/gtest.h>

#include "validation/unit/support/run_files.h"

namespace trireme::test {
namespace {

struct Start {
  std::vector<std::string> words;
  int status;
  std::string says;
};

TEST(OneVoice, OfManyProcessesThatEndBeforeMpiStarts) {
  const std::vector<Start> starts = {
      {{}, 2, "Usage: trireme COMMAND"},
      {{"tran", "input/tiny.toml"}, 2, "unknown command 'tran'"},
      {{"--bogus"}, 2, "unknown command '--bogus'"},
      {{"--help"}, 0, "Usage: trireme COMMAND"},
      {{"-h"}, 0, "Usage: trireme COMMAND"},
      {{"--version"}, 0, "Trireme 0"},
      {{"check", "input/tiny.toml", "--ranks", "1"}, 2, "is one process: start it without mpiexec"},
      {{"checkpoint", "--help"}, 2, "is one process: start it without mpiexec"},
      {{"train", "--help"}, 0, "trireme train"},
      {{"train", "--bogus", "input/tiny.toml"}, 2, "--bogus"},
      {{"train", "input/tiny.toml", "a=1"}, 2, "unknown key 'a'"},
      {{"train"}, 2, "INPUT is required"},
  };
  std::vector<std::unique_ptr<Folder>> folders;
  std::vector<std::unique_ptr<Process>> processes;  // at once: some of theirs wait for the first to have spoken
  for (const Start& start : starts) {
    folders.push_back(std::make_unique<Folder>());
    processes.push_back(std::make_unique<Process>(on_ranks(3, start.words), *folders.back()));
  }
  for (std::size_t k = 0; k < starts.size(); ++k) {
    const Result result = processes[k]->wait(120);
    EXPECT_EQ(result.status, starts[k].status) << starts[k].says << result.err;
    EXPECT_GE(occurrences(result.out + result.err, starts[k].says), 1) << starts[k].says;
    const std::string line = (result.out + result.err).substr(0, (result.out + result.err).find('\n'));
    EXPECT_EQ(occurrences(result.out + result.err, line + "\n"), 1) << result.out << result.err;
  }
}

}  // namespace
}  // namespace trireme::test
