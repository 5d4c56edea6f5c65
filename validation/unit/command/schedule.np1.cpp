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
  EXPECT_TRUE(result.out.ends_with("\nwrote " + (folder / "schedule.svg") + "\n")) << result.out;
}

TEST(ScheduleCommand, ShowsTheScheduleOfAnInputFile) {
  const Folder folder;
  std::ofstream(folder / "input.toml") << "[model]\nlayers = 8\n[parallel]\npipeline = 4\ntensor = 2\n[batch]\nglobal = 8\n";
  Result result = schedule({folder / "input.toml"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("1f1b: p = 4 stages, v = 1, m = 8 microbatches\n"), std::string::npos) << result.out;
  result = schedule({folder / "input.toml", "parallel.virtual=2", "parallel.schedule=interleaved", "--columns=4"});
  EXPECT_NE(result.out.find("stage 0 |001122330011"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("\ntime              28.5 forward passes of a whole stage\n"), std::string::npos) << result.out;
  // 16 ranks: t = 2, p = 4, d = 2
  result = schedule({folder / "input.toml", "--ranks=16"});
  EXPECT_NE(result.out.find("p = 4 stages, v = 1, m = 4 microbatches"), std::string::npos) << result.out;
  for (const char* shipped : {"input/novels.toml", "input/gpt3-175b.toml", "input/tiny.toml"})
    EXPECT_EQ(schedule({shipped}).status, 0) << shipped;
}

TEST(ScheduleCommand, RefusesByKey) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"batch.global=8", "parallel.pipeline=4", "--svg=/no folder/x.svg"},
       "/no folder/x.svg: cannot be written: there is no folder /no folder"},
      {{"batch.global=8", "parallel.schedule=1F1B"}, "parallel.schedule = \"1F1B\" is not one of \"1f1b\", \"gpipe\""},
      {{"batch.global=7", "batch.micro=2"}, "batch.global = 7"},
      {{"batch.global=0"}, "batch.global = 0"},
      {{"batch.global=8", "parallel.pipeline=4", "parallel.virtual=3"}, "parallel.virtual = 3"},
      {{"batch.global=8", "parallel.pipeline=0"}, "parallel.pipeline = 0"},
      {{"batch.global=8", "parallel.pipeline=2147483647"}, "at most 4096 can be planned"},
      {{"batch.global=100000", "parallel.pipeline=100000"}, "make 100000 chunks of the model; at most 4096 can be planned"},
      {{"batch.global=1000", "parallel.pipeline=501", "parallel.schedule=gpipe", "--svg=/no folder/x.svg"},
       "--svg: 1002000 passes on all stages: at most 1000000 are drawn"},
      {{"batch.global=8", "model.hidden=64"}, "model.hidden=64: a schedule depends on"},
      {{"batch.global=8", "parallel.virtual=2", "parallel.pipeline=2", "parallel.schedule=interleaved", "--columns=3"},
       "--columns=3: no multiple of parallel.virtual = 2"},
      {{"batch.global=8", "--ranks=4", "parallel.pipeline=8"}, "--ranks=4: no multiple of t p = 1 x 8"},
      {{"batch.global=6", "--ranks=4"}, "batch.global = 6 is no positive multiple of b d = 1 x 4"},
      {{"none.toml"}, "none.toml: cannot open: No such file"},
      {{"input/tiny.toml", "input/novels.toml"}, "input/novels.toml: a second input file beside input/tiny.toml"},
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
