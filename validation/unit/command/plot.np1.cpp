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
  EXPECT_EQ(result.out.find("damaged"), std::string::npos);
}

// What a full disk leaves: a piece of a row, two rows in one, a row twice. The rest is drawn.
TEST(PlotCommand, LeavesDamagedRowsOutAndNamesThem) {
  const Folder folder;
  const std::string row = ",8,128,6.2,,1.5,1e-3,1,0.1,1280,1,1,1048576,0,1\n";
  std::ofstream(folder / "metrics.csv") << header << "1" << row.substr(0, 12) << "\n2" << row << "3,8,1284" << row << "2" << row
                                        << "5" << row;
  Result result = run({program(), "plot", folder.path()});
  EXPECT_EQ(result.status, 0) << result.err;
  for (const char* note : {"metrics.csv:2: damaged: the row has 6 cells and the header 15; this row is left out",
                           "metrics.csv:4: damaged: the row has 17 cells and the header 15; this row is left out",
                           "metrics.csv:5: step 2 for the second time; this row is left out"})
    EXPECT_NE(result.out.find(note), std::string::npos) << note << "\n" << result.out;
  EXPECT_NE(read_text(folder / "plots/loss.svg").find(">5</text>"), std::string::npos) << "the last step is on the axis";
  std::ofstream(folder / "metrics.csv") << header << "1" << row.substr(0, 12) << "\n2,\n";
  result = run({program(), "plot", folder.path()});
  EXPECT_EQ(result.status, 2) << "no row is whole";
  EXPECT_NE(result.err.find("metrics.csv:2: damaged"), std::string::npos) << result.err;
}

TEST(PlotCommand, DrawsSeveralRunsOverEachOther) {
  const Folder folder;
  for (const char* name : {"first", "second"}) {
    fs::create_directories(folder / name);
    std::ofstream(folder / name + "/metrics.csv") << header << "1,8,128,6.2,6.3,1.5,1e-3,1,0.1,1280,1,1,1048576,0,1\n"
                                                  << "2,16,256,5.2,5.3,1.5,1e-3,1,0.1,1280,1,1,1048576,0,1\n";
  }
  const std::string first = folder / "first", second = folder / "second";
  Result result = run({program(), "plot", first, second});
  EXPECT_EQ(result.status, 0) << result.err;
  const std::string path = first + "/plots/first+second/";
  const std::string loss = read_text(path + "loss.svg"), norm = read_text(path + "gradient_norm.svg");
  for (const char* name :
       {">first, training</text>", ">first, validation</text>", ">second, training</text>", ">second, validation<"})
    EXPECT_NE(loss.find(name), std::string::npos) << name;
  EXPECT_NE(norm.find(">first</text>"), std::string::npos);
  EXPECT_NE(norm.find(">second</text>"), std::string::npos);
  EXPECT_FALSE(fs::exists(first + "/plots/loss.svg")) << "its own drawings stay as they are";
  EXPECT_FALSE(fs::exists(second + "/plots"));
  result = run({program(), "plot", first, second, "--output", folder / "here/both"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(xml_fault(read_text(folder / "here/both/loss.svg")), "");
  result = run({program(), "plot", first, folder / "none"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("none: no folder of a run"), std::string::npos) << result.err;
  result = run({program(), "plot", first, folder.path().string() + "/second/../first/"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("are the same run"), std::string::npos) << result.err;
}

TEST(PlotCommand, HoldsLossesAgainstTheEntropyOfWhatWasTrainedOn) {
  const Folder folder;
  const std::string directory = folder / "run";
  Result result = run(on_ranks(1, {"train", "input/tiny.toml", "run.steps=2", "run.threads=1", "run.directory=" + directory}));
  ASSERT_EQ(result.status, 0) << result.err;
  const auto at = result.out.find("of entropy ");
  ASSERT_NE(at, std::string::npos) << result.out;
  const std::string printed = result.out.substr(at + 11, 6);
  result = run({program(), "plot", directory});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(read_text(directory + "/plots/loss.svg").find(">entropy of the synthetic source: " + printed + "</text>"),
            std::string::npos)
      << printed;
  const std::vector<std::string> damages = {
      "", "{", "[1]", "{\"name\": 1, \"nats\": 2}", "{\"name\": \"x\", \"nats\": \"y\"}", std::string(60000, '[')};
  for (const std::string& damaged : damages) {
    std::ofstream(directory + "/entropy.json") << damaged;
    result = run({program(), "plot", directory});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_NE(result.out.find("note: " + directory + "/entropy.json: "), std::string::npos) << damaged;
    EXPECT_NE(result.out.find("drawn without the entropy"), std::string::npos) << damaged;
    EXPECT_EQ(read_text(directory + "/plots/loss.svg").find("class=\"level\""), std::string::npos) << damaged;
  }
}

TEST(PlotCommand, RunsOfOneNameAreCalledByTheirPaths) {
  const Folder folder;
  for (const char* name : {"a/run", "b/run"}) {
    fs::create_directories(folder / name);
    std::ofstream(folder / name + "/metrics.csv") << header << "1,8,128,6.2,,1.5,1e-3,1,0.1,1280,1,1,1048576,0,1\n";
  }
  const Result result = run({program(), "plot", folder / "a/run", folder / "b/run", "--output", folder / "x"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(read_text(folder / "x/memory.svg").find(">" + (folder / "b/run") + "</text>"), std::string::npos);
}

TEST(PlotCommand, OddNumbersMakeNoOddDrawing) {
  const std::vector<std::string> rows = {
      "1,8,128,1e-320,,1e-320,1e-3,1,0.1,1e-320,1,1,1,0,1\n",
      "1,8,128,1e308,,1e308,1e-3,1,0.1,1e308,1,1,1,0,1\n2,8,128,-1e308,,5e-324,1,1,1,1,1,1,1,0,1\n",
      "9000000000000000000,8,128,inf,,0,1e-3,1,0.1,3,1,1,1,0,1\n"};
  for (const std::string& text : rows) {
    const Folder folder;
    std::ofstream(folder / "metrics.csv") << header << text;
    const Result result = run({program(), "plot", folder.path()}, 10);
    EXPECT_EQ(result.status, 0) << result.err;
    for (const auto& file : fs::directory_iterator(folder / "plots")) EXPECT_EQ(xml_fault(read_text(file.path())), "") << text;
  }
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
  EXPECT_NE(result.err.find("no quantity in metrics.csv"), std::string::npos) << result.err;
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
