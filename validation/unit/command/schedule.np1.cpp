// `trireme schedule` as a user meets it. Oracle: numbers of p = 4, m = 8 by hand, and what must be refused.
#include <gtest/gtest.h>

#include "validation/unit/support/process.h"

namespace trireme::test {
namespace {

Result schedule(std::vector<std::string> words) {
  words.insert(words.begin(), {program().string(), "schedule"});
  return run(words);
}

TEST(ScheduleCommand, ReportsBubbleMemoryAndMessages) {
  const std::string text = schedule({"parallel.pipeline=4", "batch.global=16", "batch.micro=2"}).out;
  EXPECT_NE(text.find("stage 3 |...0aa1bb"), std::string::npos);
  EXPECT_NE(text.find("0.3750 of the work simulated, 0.3750 by the formula"), std::string::npos) << text;
  EXPECT_NE(text.find("4 3 2 1 by stage"), std::string::npos) << text;
  EXPECT_NE(text.find("48 a step on 6 channels"), std::string::npos) << text;
}

TEST(ScheduleCommand, WritesTheDrawing) {
  const Folder folder;
  const Result result =
      schedule({"parallel.schedule=gpipe", "parallel.pipeline=2", "batch.global=4", "--svg", folder / "schedule.svg"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(read_text(folder / "schedule.svg").rfind("<svg", 0), 0u);
}

TEST(ScheduleCommand, RefusesByKey) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"batch.global=8", "parallel.pipeline=4", "--svg=/no folder/x.svg"},
       "/no folder/x.svg: cannot be written: No such file or directory"},
      {{"batch.global=8", "parallel.schedule=1F1B"}, "parallel.schedule = \"1F1B\" is not one of \"1f1b\", \"gpipe\""},
      {{"batch.global=7", "batch.micro=2"}, "batch.global = 7"},
      {{"batch.global=0"}, "batch.global = 0"},
      {{"batch.global=8", "parallel.pipeline=4", "parallel.virtual=3"}, "parallel.virtual = 3"},
      {{"batch.global=8", "parallel.pipeline=0"}, "parallel.pipeline = 0"},
      {{"batch.global=8", "parallel.pipeline=2147483647"}, "2147483647 is too many"},
      {{"batch.global=100000", "parallel.pipeline=100000"}, "at most"},
      {{"batch.global=1000", "parallel.pipeline=501", "parallel.schedule=gpipe", "--svg=/no folder/x.svg"},
       "--svg: 1002000 passes on all stages: at most 1000000 are drawn"},
      {{"batch.global=8", "model.hidden=64"}, "model.hidden=64: a schedule depends on"},
      {{}, "batch.global is required"}};
  for (const auto& [words, message] : wrong) {
    const Result result = schedule(words);
    EXPECT_EQ(result.status, 2) << message;
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
  }
}

}  // namespace
}  // namespace trireme::test
