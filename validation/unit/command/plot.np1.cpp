// `trireme plot` as a user meets it. Oracle: runs whose metrics are written by hand; a checker of XML of its own.
#include <gtest/gtest.h>

#include "validation/unit/support/process.h"
#include "validation/unit/support/xml.h"

namespace trireme::test {
namespace {

constexpr const char* header =
    "step,samples,tokens,loss,validation_loss,grad_norm,learning_rate,loss_scale,seconds,tokens_per_second,model_tflops,"
    "hardware_tflops,peak_memory_bytes,skipped,threads\n";

TEST(PlotCommand, DrawsARunOfOneStep) {
  const Folder folder;
  std::ofstream(folder / "metrics.csv") << header << "1,8,128,6.2,,1.5,1e-3,1,0.1,1280,1,1,1048576,0,1\n";
  const Result result = run({program(), "plot", folder.path()});
  EXPECT_EQ(result.status, 0) << result.err;
  for (const char* name : {"loss", "tokens_per_second", "gradient_norm", "memory"}) {
    const std::string path = folder / "plots/" + name + ".svg";
    EXPECT_EQ(xml_fault(read_text(path)), "") << path;
    EXPECT_NE(result.out.find("wrote " + path), std::string::npos) << result.out;
    EXPECT_NE(read_text(path).find(">" + folder.path().filename().string() + ": "), std::string::npos) << "the run's name";
  }
}

TEST(PlotCommand, LeavesAHalfWrittenLastRowOut) {
  const Folder folder;
  const std::string row = ",8,128,6.2,,1.5,1e-3,1,0.1,1280,1,1,1048576,0,1\n";
  std::ofstream(folder / "metrics.csv") << header << "1" << row << "2" << row.substr(0, 12);
  Result result = run({program(), "plot", folder.path()});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("metrics.csv: the last row is half-written and left out"), std::string::npos) << result.out;
  std::ofstream(folder / "metrics.csv") << header << "1" << row.substr(0, 12) << "\n2" << row;
  result = run({program(), "plot", folder.path()});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("metrics.csv:2: 6 cells"), std::string::npos) << result.err;
}

TEST(PlotCommand, PassesOverAQuantityWithNothingToDraw) {
  const Folder folder;
  std::ofstream(folder / "metrics.csv") << header << "1,8,128,nan,,0,1e-3,1,0.1,1280,1,1,,0,1\n";
  Result result = run({program(), "plot", folder.path()});
  EXPECT_EQ(result.status, 0) << result.err;
  for (const char* name : {"note: loss: ", "note: gradient_norm: ", "note: memory: "})
    EXPECT_NE(result.out.find(name), std::string::npos) << name << "\n" << result.out;
  EXPECT_TRUE(fs::exists(folder / "plots/tokens_per_second.svg"));
  EXPECT_FALSE(fs::exists(folder / "plots/loss.svg"));
  fs::remove_all(folder / "plots");
  std::ofstream(folder / "metrics.csv") << header << "1,8,128,nan,,0,1e-3,1,0.1,,1,1,,0,1\n";
  result = run({program(), "plot", folder.path()});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("no quantity in it"), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(folder / "plots"));
}

TEST(PlotCommand, RefusesWhatIsNoRunOrHasNoStep) {
  const Folder folder;
  Result result = run({program(), "plot", folder.path()});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("holds no metrics.csv"), std::string::npos) << result.err;
  std::ofstream(folder / "metrics.csv") << header;
  result = run({program(), "plot", folder.path()});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("metrics.csv: no steps in it"), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(folder / "plots"));
}

}  // namespace
}  // namespace trireme::test
