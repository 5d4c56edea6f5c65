// Curves of a run. Oracle: points whose places follow from the axes; a checker of XML of its own.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"
#include "validation/unit/support/words.h"
#include "validation/unit/support/xml.h"
#include "view/axis.h"
#include "view/line_chart.h"
#include "view/svg.h"

namespace trireme::test {
namespace {

using view::Chart;
using view::Point;
using Values = std::vector<double>;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

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

// A loss that falls as 6/(1+k/3)+1 with 500 points: around the begin the mean of 21 points lies far above it.
TEST(RunningMeans, StandOnlyWhereTheyRunInsideTheirCurve) {
  std::vector<Point> points;
  for (int k = 0; k < 500; ++k) points.push_back({double(k), 6 / (1 + k / 3.0) + 1});
  for (const Point& mean : view::running_means(points)) {
    const auto k = static_cast<std::size_t>(mean.x);
    EXPECT_GE(k, 10u) << "its surroundings are whole";
    EXPECT_LT(k, 490u);
    if (std::isnan(mean.y)) continue;
    EXPECT_LE(mean.y, points[k - 2].y) << k;
    EXPECT_GE(mean.y, points[k + 2].y) << k;
  }
  EXPECT_TRUE(std::isnan(view::running_means(points)[0].y)) << "steep: no mean";
}

TEST(RunningMeans, AreTheMeansOfNoiseAndFewPointsHaveNone) {
  std::vector<Point> points;
  for (int k = 0; k < 100; ++k) points.push_back({double(k), k % 2 ? 2.0 : 0.0});  // reach 2
  points[20].y = nan;
  const std::vector<Point> means = view::running_means(points);
  ASSERT_EQ(means.size(), 96u);
  EXPECT_EQ(means[0].x, 2);
  EXPECT_EQ(means[0].y, 4.0 / 5);
  EXPECT_EQ(means[18].y, 4.0 / 4) << "0 2 - 2 0";
  points.pop_back();
  EXPECT_TRUE(view::running_means(points).empty());
  EXPECT_LE(view::running_means(std::vector<Point>(200'000, {1, 1})).size(), 1000u);
}

TEST(Thinned, KeepsTheOutlineOfManyPoints) {
  std::vector<Point> points;
  for (int k = 0; k < 100'000; ++k) points.push_back({k / 1000.0, std::sin(k * 1.7)});
  points[50'210].y = 9, points[50'290].y = -9;
  const std::vector<Point> kept = view::thinned(points);
  EXPECT_LE(kept.size(), 4u * 201u);
  for (const auto& peak : {points[50'210], points[50'290], points.front(), points.back()})
    EXPECT_EQ(std::count_if(kept.begin(), kept.end(), [&](const Point& p) { return p.x == peak.x && p.y == peak.y; }), 1);
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end(), [](const Point& a, const Point& b) { return a.x < b.x; }));
  const std::vector<Point> few = {{0, 1}, {30, 0}, {60, 5}};
  EXPECT_EQ(view::thinned(few).size(), 3u);
}

TEST(LineChart, ALineHasItsPointsAndNoGapIsBridged) {
  const std::string drawing = line_chart(chart({{1, 5}, {2, 4}, {3, nan}, {4, 3}, {5, 2}}));
  EXPECT_EQ(xml_fault(drawing), "");
  EXPECT_NE(drawing.find("A &lt;chart&gt;"), std::string::npos);
  const auto path = drawing.rfind("<path class=\"c0\" d=\"M");
  const std::string line = drawing.substr(path + 20, drawing.find('"', path + 20) - path - 20);
  EXPECT_EQ(occurrences(line, "M"), 2) << line;
  EXPECT_EQ(occurrences(line, "L"), 2) << line;
}

TEST(LineChart, OnePointIsADot) {
  const std::string drawing = line_chart(chart({{1, 5}}));
  EXPECT_EQ(xml_fault(drawing), "");
  EXPECT_EQ(occurrences(drawing, "<circle"), 1);
  EXPECT_EQ(occurrences(line_chart(chart({{1, 5}, {2, nan}, {3, 5}})), "<circle"), 2);
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
  EXPECT_EQ(occurrences(drawing, ">y &amp; z, log scale</text>"), 1);
  for (const char* tick : {">1</text>", ">10</text>", ">100</text>", ">1000</text>"})
    EXPECT_GE(occurrences(drawing, tick), 1) << tick;
}

TEST(LineChart, StepsAreWholeNumbersAndTheirLabelsInThePicture) {
  const std::string few = line_chart(chart({{1, 5}, {2, 4}, {3, 3}}));
  EXPECT_EQ(occurrences(few, ">1.5</text>"), 0);
  EXPECT_EQ(occurrences(few, ">2</text>"), 1);
  const std::string many = line_chart(chart({{0, 5}, {1e9, 4}}));
  const auto at = many.find(">1000000000</text>"), x = many.rfind("x=\"", at);
  EXPECT_LE(std::stod(many.substr(x + 3)) + 7.3 / 2 * 10, 860) << "the picture is 860 wide, a digit 7.3";
}

TEST(LineChart, TheLegendHasNoCurveWithoutPoints) {
  Chart two = chart({{1, 5}, {2, 4}});
  two.curves.push_back({"other", {{1, nan}}, false});
  EXPECT_EQ(occurrences(line_chart(two), ">one</text>"), 1);
  EXPECT_EQ(occurrences(line_chart(two), ">other</text>"), 0);
}

TEST(LineChart, NoisyCurvesGetAThinLineOfMeansThatHidesNothing) {
  std::vector<Point> points;
  for (int k = 0; k < 200; ++k) points.push_back({double(k), std::sin(k)});
  Chart smooth = chart(points);
  smooth.curves[0].smoothed = true;
  const std::string drawing = line_chart(smooth);
  EXPECT_EQ(occurrences(drawing, "stroke-linejoin"), 2);
  EXPECT_EQ(occurrences(drawing, "stroke-width=\"1.5\""), 2) << "both as thin as the other";
  EXPECT_EQ(xml_fault(drawing), "");
}

TEST(LineChart, ALevelIsALineWithItsName) {
  Chart held = chart({{1, 5}, {2, 4}});
  held.levels = {{"entropy of <it>", 1.25}, {"beyond", 1 / 0.0}};
  const std::string drawing = line_chart(held);
  EXPECT_EQ(xml_fault(drawing), "");
  EXPECT_EQ(occurrences(drawing, "class=\"level\""), 1);
  EXPECT_EQ(occurrences(drawing, ">entropy of &lt;it&gt;: 1.2500</text>"), 1);
}

TEST(LineChart, ALongLegendTakesMoreLinesAndStaysInThePicture) {
  Chart many = chart({{1, 5}, {2, 4}});
  many.curves[0].name = std::string(30, 'x');
  while (many.curves.size() < 12) many.curves.push_back(many.curves[0]);
  const std::string drawing = line_chart(many);
  EXPECT_EQ(xml_fault(drawing), "");
  EXPECT_EQ(occurrences(drawing, ">" + many.curves[0].name + "</text>"), 12);
  for (auto at = drawing.find(">xxx"); at != std::string::npos; at = drawing.find(">xxx", at + 1)) {
    const auto x = drawing.rfind("x=\"", at);
    EXPECT_LE(std::stod(drawing.substr(x + 3)) + 30 * 7.3, 860) << "the picture is 860 wide, a letter 7.3";
  }
}

TEST(LineChart, OfAMillionPointsTheFileIsSmall) {
  std::vector<Point> points;
  for (int k = 0; k < 1'000'000; ++k) points.push_back({double(k), std::sin(k) + 5});
  Chart large = chart(points);
  large.curves[0].smoothed = true;
  EXPECT_LE(line_chart(large).size(), 200'000u);
}

/// All numbers that a drawing's shapes have, or the first that is none.
void expect_numbers(const std::string& drawing, const std::string& what) {
  EXPECT_EQ(xml_fault(drawing), "") << what;
  for (const char* none : {"nan", "inf", "\"\""})
    EXPECT_EQ(drawing.substr(drawing.find("</style>")).find(none), std::string::npos) << what << ": " << none;
  EXPECT_GE(occurrences(drawing, "class=\"grid\""), 2) << what << ": ticks on both axes";
}

TEST(LineChart, DrawsWhateverNumbersThereAre) {
  constexpr double least = 5e-324, huge = 1.7976931348623157e308, infinite = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<std::string, std::vector<double>>> cases = {{"1e-320", {1e-320, 1e-320}},
                                                                          {"the least", {least, least}},
                                                                          {"of denormals", {least, 1e-320, 1e-310}},
                                                                          {"zeros", {0, 0}},
                                                                          {"with zeros", {0, 1, 0, 2}},
                                                                          {"small and large", {1e-320, 1, 1e299}},
                                                                          {"negative", {-3, -2, 1}},
                                                                          {"huge", {huge, -huge, 1}},
                                                                          {"infinite", {infinite, 2, -infinite, nan, 3}},
                                                                          {"equal", {2.5, 2.5, 2.5}},
                                                                          {"almost equal", {1e17, 1e17 + 16}},
                                                                          {"neighbours", {1, std::nextafter(1, 2)}},
                                                                          {"one", {4}},
                                                                          {"1e300", {1e300, 9e299}},
                                                                          {"1e-300", {1e-300, 1.001e-300}}};
  for (const auto& [what, values] : cases)
    for (const bool logarithmic : {false, true})
      for (const bool from_zero : {false, true}) {
        Chart odd = chart({});
        for (std::size_t k = 0; k < values.size(); ++k) odd.curves[0].points.push_back({double(k + 1), values[k]});
        odd.logarithmic = logarithmic, odd.from_zero = from_zero && !logarithmic;
        if (has_points(odd)) expect_numbers(line_chart(odd), what);
      }
}

TEST(LineChart, DrawsWhateverStepsThereAre) {
  for (const std::vector<Point>& points :
       {std::vector<Point>{{9e18, 1}}, {{1, 1}, {9.2e18, 2}}, {{9e15, 1}, {9e15 + 1, 2}}, {{0, 1}}, {{1e17, 1}, {1e17 + 16, 2}}})
    expect_numbers(line_chart(chart(points)), std::to_string(points.front().x));
}

TEST(Axis, NamesSmallPowersOfTen) {
  view::Axis axis(view::Axis::Scale::logarithmic);
  for (const double value : {1e-320, 1e-300}) axis.add(value);
  axis.settle(0, 0);
  std::string labels;
  for (const view::Tick& tick : axis.ticks(6)) {
    EXPECT_TRUE(tick.share >= 0 && tick.share <= 1) << tick.label;
    labels += tick.label + " ";
  }
  EXPECT_EQ(labels, "1e-318 1e-315 1e-312 1e-309 1e-306 1e-303 1e-300 ");
}

TEST(Ticks, LabelsTellNeighboursApart) {
  EXPECT_EQ(view::tick_label(6.2384, 1), "6.2384");
  EXPECT_EQ(view::tick_label(6.23840001, 1e-8), "6.23840001");
  EXPECT_EQ(view::tick_label(-100000.25, 0.25), "-100000.25");
  EXPECT_EQ(view::tick_label(0, 0), "0");
}

TEST(Text, BytesThatAreNoCharacterDoNotSpoilTheFile) {
  EXPECT_EQ(view::xml_text("a\xff\xc3(\xe2\x82"), "a\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd");
  EXPECT_EQ(view::xml_text("\xc3\xa9\x01\n\"<&>"), "\xc3\xa9  &quot;&lt;&amp;&gt;");
}

}  // namespace
}  // namespace trireme::test
