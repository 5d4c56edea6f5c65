// Paths that only a shell would expand, as outputs of commands: refused, and no folder of that name is made. Oracle: the file
// system.
#include <gtest/gtest.h>

#include "validation/unit/support/process.h"

namespace trireme::test {
namespace {

TEST(Paths, ThatOnlyAShellWouldExpandAreNotMade) {
  const Folder folder;
  std::ofstream(folder / "text") << "some text";
  const std::vector<std::string> commands = {
      "prepare text '--output=~/tokens'",
      "prepare text --output='$DATA/tokens'",
      "schedule parallel.pipeline=2 batch.global=4 '--svg=~/x.svg'",
      "schedule parallel.pipeline=2 batch.global=4 '--svg=${HOME}/x.svg'",
      "checkpoint import text '~/start'",
      "checkpoint export text '$W/model.safetensors'",
  };
  for (const std::string& command : commands) {
    const Result result = run({"bash", "-c", "cd " + folder.path().string() + "; " + program().string() + " " + command});
    EXPECT_EQ(result.status, 2) << command << result.err;
    EXPECT_NE(result.err.find("is not expanded here; write the path in full"), std::string::npos) << command << result.err;
  }
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    const char first = entry.path().filename().string().front();
    EXPECT_TRUE(first != '~' && first != '$') << entry.path();
  }
}

}  // namespace
}  // namespace trireme::test
