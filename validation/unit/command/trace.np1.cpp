// `trireme trace` as a user meets it, on a trace of a run of the program.
#include <gtest/gtest.h>

#include "validation/unit/support/process.h"
#include "validation/unit/support/xml.h"

namespace trireme::test {
namespace {

TEST(TraceCommand, ShowsTheStepThatARunTraced) {
  const Folder folder;
  const std::string directory = folder / "run", file = directory + "/traces/step-00000002.h5";
  Result result = run(on_ranks(4, {"train", "input/tiny.toml", "run.steps=3", "run.threads=1", "parallel.pipeline=4",
                                   "trace.steps=2", "run.directory=" + directory}));
  ASSERT_EQ(result.status, 0) << result.err;
  result = run({program(), "trace", file});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("step 2: p = 4, t = 1, d = 1, v = 1, m = 16, 1f1b; bubble "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("0.1875 by formula"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("wait: pp_gradient"), std::string::npos) << result.out;
  const std::string svg = folder / "t.svg", json = folder / "t.json";
  result = run({program(), "trace", file, "--ascii", "--columns=30", "--svg=" + svg, "--perfetto=" + json});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("\nrank 3 pp3 tp0 dp0 |"), std::string::npos) << result.out;
  EXPECT_EQ(xml_fault(read_text(svg)), "");
  EXPECT_EQ(read_text(json).rfind("{\"traceEvents\"", 0), 0u);
  result = run({program(), "trace", directory, "--ascii", "--columns=30", "--ranks=1-2", "--time=0-1"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out.rfind(file + "\nstep 2: ", 0), 0u) << "the run's only trace: " << result.out;
  EXPECT_NE(result.out.find("\nrank 2 pp2 tp0 dp0 |"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("rank 3"), std::string::npos) << result.out;
  const std::string before = read_text(file);
  fs::create_symlink(file, folder / "link.h5");
  const std::vector<std::pair<std::vector<std::string>, std::string>> refused = {
      {{"--svg=" + file}, "would replace the input"},
      {{"--svg=" + folder.path().string() + "/./link.h5"}, "would replace the input"},
      {{"--svg=" + (folder / "x"), "--perfetto=" + (folder / "run/../x")}, "is the name of two outputs"},
      {{"--svg=" + (folder / "new/t.svg")}, "new/t.svg: cannot be written: there is no folder"},
      {{"--svg=" + folder.path().string()}, "cannot be written: it is a folder"},
      {{"--columns=30"}, "--columns requires --ascii"},
      {{"--ranks=1"}, "--ranks and --time choose what --svg FILE or --ascii shows"},
      {{"--ascii", "--ranks=0-4"}, "--ranks=0-4: there is no rank 4: this trace has 4 ranks"},
      {{"--svg=" + svg, "--time=1e6-2e6"}, "this step ends after"}};
  for (const auto& [words, message] : refused) {
    std::vector<std::string> command = {program(), "trace", file};
    command.insert(command.end(), words.begin(), words.end());
    result = run(command);
    EXPECT_EQ(result.status, 2) << message;
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
  }
  EXPECT_EQ(read_text(file), before);
  EXPECT_FALSE(fs::exists(folder / "x") || fs::exists(folder / "new"));
  result = run({program(), "trace", directory + "/traces/step-00000001.h5"});
  EXPECT_EQ(result.status, 2) << "only step 2 was traced";
}

TEST(TraceCommand, OfARunTakesTheLastStep) {
  const Folder folder;
  Result result = run({program(), "trace", folder.path()});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find(folder.path().string() + ": there is no trace in its folder traces"), std::string::npos)
      << result.err;
  fs::create_directories(folder / "traces");
  for (const char* name : {"step-00000009.h5", "step-00000010.h5", "step-123456789.h5", "step-99999999.h5.partial", "z.h5"})
    std::ofstream(folder / "traces/" + name) << "no trace";
  result = run({program(), "trace", folder.path()});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err.rfind(folder / "traces/step-123456789.h5" + ": not the trace of a step", 0), 0u) << result.err;
}

}  // namespace
}  // namespace trireme::test
