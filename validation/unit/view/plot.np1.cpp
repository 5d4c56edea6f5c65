// Curves of a run. Oracle: points whose places follow from the axes; a checker of XML of its own.
#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"
#include "validation/unit/support/xml.h"
#include "view/line_chart.h"
#include "view/svg.h"

namespace trireme::test {
namespace {

using view::Chart;
using view::Point;
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
  EXPECT_EQ(view::round_ticks(0, 10, 5), (Values{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(view::round_ticks(0.7, 2.4, 4), (Values{1, 1.5, 2}));
  EXPECT_EQ(view::round_ticks(-1, 1, 2), (Values{-1, 0, 1}));
  EXPECT_EQ(view::round_ticks(3, 3, 5), Values{3});
}

TEST(RunningMeans, ShrinkAtTheEndsAndLeaveGapsOut) {
  std::vector<Point> points;
  for (int k = 0; k < 40; ++k) points.push_back({double(k), k % 2 ? 2.0 : 0.0});  // reach 2
  points[20].y = nan;
  const std::vector<Point> means = view::running_means(points);
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

}  // namespace
}  // namespace trireme::test
