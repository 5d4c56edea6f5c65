// Curves of a run, and the commands that draw. Oracle: points whose places follow from the axes; a checker of XML of its own;
// runs of the program.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "validation/unit/support/process.h"
#include "validation/unit/support/xml.h"
#include "view/line_chart.h"
#include "view/svg.h"

namespace trireme::test {
namespace {

using command::Chart;
using command::Point;
using Values = std::vector<double>;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t number = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++number;
  return number;
}

Chart chart(const std::vector<Point>& points) { return {"A <chart>", "step", "y & z", false, false, {{"one", points, false}}}; }

TEST(XmlChecker, FindsFaults) {
  EXPECT_EQ(xml_fault("<a b=\"c\"><d/>x &lt; y</a>\n"), "");
  for (const char* bad : {"<a>", "<a></b>", "<a/><b/>", "<a b=c/>", "<a b=\"nan\"/>", "<a>x & y</a>", "x", "<a b=\"1\"", ""})
    EXPECT_NE(xml_fault(bad), "") << bad;
}

TEST(Ticks, AreRoundAndInside) {
  EXPECT_EQ(base::round_ticks(0, 10, 5), (Values{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(base::round_ticks(0.7, 2.4, 4), (Values{1, 1.5, 2}));
  EXPECT_EQ(base::round_ticks(-1, 1, 2), (Values{-1, 0, 1}));
  EXPECT_EQ(base::round_ticks(3, 3, 5), Values{3});
}

TEST(RunningMeans, ShrinkAtTheEndsAndLeaveGapsOut) {
  std::vector<Point> points;
  for (int k = 0; k < 40; ++k) points.push_back({double(k), k % 2 ? 2.0 : 0.0});  // reach 2
  points[20].y = nan;
  const std::vector<Point> means = command::running_means(points);
  EXPECT_EQ(means[0].y, 0);
  EXPECT_EQ(means[1].y, 2.0 / 3);
  EXPECT_EQ(means[2].y, 4.0 / 5);
  EXPECT_EQ(means[20].y, 4.0 / 4);  // 0 2 - 2 0
  EXPECT_EQ(means[39].y, 2);
}

TEST(LineChart, ALineHasItsPointsAndNoGapIsBridged) {
  const std::string drawing = line_chart(chart({{1, 5}, {2, 4}, {3, nan}, {4, 3}, {5, 2}}));
  EXPECT_EQ(xml_fault(drawing), "");
  EXPECT_NE(drawing.find("A &lt;chart&gt;"), std::string::npos);
  const auto path = drawing.rfind("<path d=\"M");
  const std::string line = drawing.substr(path, drawing.find('"', path + 9) - path);
  EXPECT_EQ(count(line, "M"), 2u) << line;
  EXPECT_EQ(count(line, "L"), 2u) << line;
}

TEST(LineChart, OnePointIsADot) {
  const std::string drawing = line_chart(chart({{1, 5}}));
  EXPECT_EQ(xml_fault(drawing), "");
  EXPECT_EQ(count(drawing, "<circle"), 1u);
  EXPECT_EQ(count(line_chart(chart({{1, 5}, {2, nan}, {3, 5}})), "<circle"), 2u);
}

TEST(LineChart, WithoutPointsItIsRefused) {
  EXPECT_THROW(line_chart(chart({})), base::Error);
  EXPECT_THROW(line_chart(chart({{1, nan}})), base::Error);
}

TEST(LineChart, ALogarithmicAxisLeavesOutWhatHasNoLogarithm) {
  Chart logarithmic = chart({{1, 0}, {2, -1}, {3, 1}, {4, 10}, {5, 1000}});
  logarithmic.logarithmic = true;
  const std::string drawing = line_chart(logarithmic);
  EXPECT_EQ(xml_fault(drawing), "");
  EXPECT_EQ(count(drawing, ">y &amp; z, log scale</text>"), 1u);
  for (const char* tick : {">1</text>", ">10</text>", ">100</text>", ">1000</text>"}) EXPECT_GE(count(drawing, tick), 1u) << tick;
}

TEST(LineChart, StepsAreWholeNumbersAndTheirLabelsInThePicture) {
  const std::string few = line_chart(chart({{1, 5}, {2, 4}, {3, 3}}));
  EXPECT_EQ(count(few, ">1.5</text>"), 0u);
  EXPECT_EQ(count(few, ">2</text>"), 1u);
  const std::string many = line_chart(chart({{0, 5}, {1e9, 4}}));
  const auto at = many.find(">1000000000</text>"), x = many.rfind("x=\"", at);
  EXPECT_LE(std::stod(many.substr(x + 3)) + 7.3 / 2 * 10, 860) << "the picture is 860 wide, a digit 7.3";
}

TEST(LineChart, TheLegendHasNoCurveWithoutPoints) {
  Chart two = chart({{1, 5}, {2, 4}});
  two.curves.push_back({"other", {{1, nan}}, false});
  EXPECT_EQ(count(line_chart(two), ">one</text>"), 1u);
  EXPECT_EQ(count(line_chart(two), ">other</text>"), 0u);
}

TEST(LineChart, NoisyCurvesGetALineOfMeans) {
  std::vector<Point> points;
  for (int k = 0; k < 100; ++k) points.push_back({double(k), std::sin(k)});
  Chart smooth = chart(points);
  smooth.curves[0].smoothed = true;
  EXPECT_EQ(count(line_chart(smooth), "stroke-linejoin"), 2u);
  EXPECT_EQ(xml_fault(line_chart(smooth)), "");
}

// ---- the program ----

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
  const std::string before = read_text(file);
  fs::create_symlink(file, folder / "link.h5");
  const std::vector<std::pair<std::vector<std::string>, std::string>> refused = {
      {{"--svg=" + file}, "would replace the input"},
      {{"--svg=" + folder.path().string() + "/./link.h5"}, "would replace the input"},
      {{"--svg=" + (folder / "x"), "--perfetto=" + (folder / "run/../x")}, "is to be written twice"},
      {{"--svg=" + (folder / "new/t.svg")}, "new/t.svg: cannot be written: No such file or directory"},
      {{"--svg=" + folder.path().string()}, "cannot be written: Is a directory"},
      {{"--columns=30"}, "--columns requires --ascii"}};
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

}  // namespace
}  // namespace trireme::test
