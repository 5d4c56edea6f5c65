// Commands whose output does not arrive. Oracle: /dev/full, a closed stream, a reader that is gone; files that must be there all
// the same.
#include <gtest/gtest.h>

#include "validation/unit/support/process.h"

namespace trireme::test {
namespace {

class LostOutput : public testing::Test {
 protected:
  Result command(const std::string& words, const std::string& arrangement) const {
    return test::run({"sh", "-c", program().string() + " " + words + " " + arrangement});
  }
  void expect_failure(const std::string& words) const {
    ASSERT_EQ(command(words, "").status, 0) << words;
    for (const char* arrangement : {">/dev/full", ">&-"}) {
      const Result result = command(words, arrangement);
      EXPECT_EQ(result.status, 1) << words << arrangement;
      EXPECT_NE(result.err.find("standard output: cannot write"), std::string::npos) << words << arrangement << result.err;
    }
  }

  Folder folder_;
  const std::string run_ = folder_ / "run";
};

TEST_F(LostOutput, EndsEveryCommandWith1) {
  ASSERT_EQ(command("train input/tiny.toml run.steps=2 trace.steps=2 run.directory=" + run_, "").status, 0);
  for (const std::string& words :
       {std::string("check input/tiny.toml --ranks 2"), "checkpoint show " + run_, "checkpoint verify " + run_,
        "checkpoint export " + run_ + " " + (folder_ / "x.safetensors"), "trace " + run_ + "/traces/step-00000002.h5",
        "plot " + run_, "compare " + run_ + " " + run_, std::string("schedule parallel.pipeline=2 batch.global=8"),
        std::string("--version"), std::string("--help"), std::string("check --help"), std::string("train --help")})
    expect_failure(words);
}

/// Output longer than a pipe's buffer, to a reader that leaves.
TEST_F(LostOutput, ToAReaderThatLeftIsAFailureToo) {
  const Result result = command("schedule parallel.pipeline=64 batch.global=1024", "2>" + folder_ / "said" + " | true");
  EXPECT_EQ(result.status, 0) << "the reader's";
  EXPECT_NE(read_text(folder_ / "said").find("standard output: cannot write"), std::string::npos) << read_text(folder_ / "said");
}

/// A closed stream's number must not become a file's: what is printed would go into it.
TEST_F(LostOutput, DoesNotGoIntoAFile) {
  const std::string tokens = folder_ / "tokens";
  std::ofstream(folder_ / "text") << "some words of text, and some more words";
  const Result result = command("prepare " + (folder_ / "text") + " --output " + tokens, ">&- 2>&- <&-");
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(fs::file_size(tokens + ".bin") % 2, 0u);
  EXPECT_EQ(read_text(tokens + ".bin").find("token"), std::string::npos) << "a message is in the file";
  EXPECT_EQ(test::run({"sh", "-c",
                       program().string() + " train input/tiny.toml data.synthetic=false run.steps=1 batch.global=1 " +
                           "model.sequence=8 data.tokens=" + tokens + " run.directory=" + run_})
                .status,
            0);
}

}  // namespace
}  // namespace trireme::test
