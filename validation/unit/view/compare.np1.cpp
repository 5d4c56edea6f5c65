// The comparison of metrics with a reference: limits, what must fail, the files' form, the printed verdicts. The oracle of every
// case is written beside it by hand; verdicts have no tolerance.
#include <cmath>
#include <limits>
#include <regex>

#include <gtest/gtest.h>

#include "base/error.h"
#include "view/comparison.h"

namespace trireme::view {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();

struct Case {
  std::string name;
  Series reference, ours;
  std::optional<double> relative, absolute;
  std::string failure;  // its beginning; empty: passes
};

class Limits : public testing::TestWithParam<Case> {};

TEST_P(Limits, AreHeld) {
  const Case& c = GetParam();
  const Check check = compare_series(c.reference, c.ours, {"loss", c.relative, c.absolute, "why"}, "run");
  EXPECT_EQ(check.verdict, c.failure.empty() ? Verdict::pass : Verdict::fail) << check.failure;
  EXPECT_EQ(check.failure, c.failure);
}

const Series three = {{1, 4.0}, {2, 2.0}, {3, -1.0}};

INSTANTIATE_TEST_SUITE_P(
    Table, Limits,
    testing::Values(
        Case{"equal", three, three, {}, {}, ""},  //
        Case{"exact_differs",
             three,
             {{1, 4.0}, {2, std::nextafter(2.0, 3.0)}, {3, -1.0}},
             {},
             {},
             "at step 2 (first): outside the limit"},
        Case{"inside_relative", three, {{1, 4.5}, {2, 2.25}, {3, -1.125}}, 0.125, {}, ""},  // on the limit: exact in binary
        Case{"outside_relative", three, {{1, 4.0}, {2, 2.0}, {3, -1.1251}}, 0.125, {}, "at step 3 (first): outside the limit"},
        Case{"inside_absolute", three, {{1, 4.125}, {2, 1.875}, {3, -1.0}}, {}, 0.125, ""},
        Case{"outside_absolute", three, {{1, 4.1251}, {2, 0.0}, {3, -1.0}}, {}, 0.125, "at step 1 (first): outside the limit"},
        Case{"either_will_do", three, {{1, 4.5}, {2, 2.0}, {3, -1.5}}, 0.125, 0.5, ""},
        Case{"sign", three, {{1, 4.0}, {2, 2.0}, {3, 1.0}}, 0.125, {}, "at step 3 (first): outside the limit"},
        Case{"zero_reference", {{1, 0.0}}, {{1, 1e-300}}, 0.5, {}, "at step 1 (first): outside the limit"},
        Case{"zero_on_both", {{1, 0.0}}, {{1, -0.0}}, 0.5, {}, ""},
        Case{"nan", three, {{1, 4.0}, {2, nan}, {3, -1.0}}, 10, 10, "at step 2 (first): not finite"},
        Case{"nan_on_both", {{1, nan}}, {{1, nan}}, 10, 10, "at step 1 (first): not finite"},
        Case{"nan_reference", {{1, nan}}, {{1, 1.0}}, 10, 10, "at step 1 (first): not finite"},
        Case{"infinity_on_both", {{1, infinity}}, {{1, infinity}}, {}, {}, "at step 1 (first): not finite"},
        Case{"missing", three, {{1, 4.0}, {3, -1.0}}, 10, 10, "at step 2 (first): no value"},
        Case{"missing_end", three, {{1, 4.0}, {2, 2.0}}, 10, 10, "at step 3 (first): no value"},
        Case{"extra", {{1, 4.0}, {2, 2.0}}, three, 10, 10, "at step 3 (first): no reference"},
        Case{"no_column", three, {}, 10, 10, "at step 1 (first): no value"},
        Case{"no_reference", {}, three, 10, 10, "at step 1 (first): no reference"},
        Case{"nothing", {}, {}, 10, 10, "no value on either side"}),
    [](const auto& parameter) { return parameter.param.name; });

TEST(Comparison, ShowsTheLargestDifferencesAndTheFirstFailure) {
  const Check check =
      compare_series({{1, 4.0}, {2, 1.0}, {3, 4.0}}, {{1, 4.5}, {2, 1.25}, {3, 4.25}}, {"loss", 0.1, {}, "why"}, "run");
  EXPECT_EQ(check.steps, "1-3");
  EXPECT_EQ(check.absolute, "0.5 at 1");
  EXPECT_EQ(check.relative, "0.25 at 2");
  EXPECT_EQ(check.reference, "4");  // of step 1, the first that fails
  EXPECT_EQ(check.ours, "4.5");
  EXPECT_EQ(check.limit, "rel 0.1");
  EXPECT_EQ(check.reason, "why");
}

const std::vector<Tolerance> loss_only = {{"loss", {}, {}, ""}};

TEST(Metrics, ColumnsInAnyOrderEmptyCellsAndCarriageReturns) {
  const Series expected = {{1, 4.5}, {3, 2.0}};
  for (const char* text : {"step,loss\n1,4.5\n3,2\n", "step,loss\r\n1,4.5\r\n3,2e0\r\n", "loss,seconds,step\n4.5,x,1\n2,,3\n",
                           "step,other,loss\n1,0,4.5\n2,0,\n3,0,2", "loss , step\n 4.5, 1\n2 ,3 \n"})
    EXPECT_EQ(parse_metrics(text, "a.csv", loss_only).at("loss"), expected) << text;
  EXPECT_TRUE(parse_metrics("step,other\n1,2\n", "a.csv", loss_only).at("loss").empty());
  EXPECT_TRUE(std::isnan(parse_metrics("step,loss\n1,nan\n", "a.csv", loss_only).at("loss").at(1)));
}

template <class F>
std::string refusal(F work) {
  try {
    work();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), base::Exit::bad_input);
    return error.what();
  }
  return "not refused";
}

TEST(Metrics, MalformedFilesAreRefusedWithTheirLine) {
  const std::vector<std::pair<const char*, const char*>> wrong = {
      {"", "a.csv: no steps in it"},
      {"step,loss\n", "a.csv: no steps in it"},
      {"loss\n1\n", "a.csv:1: no column 'step'"},
      {"step,loss,loss\n1,2,3\n", "a.csv:1: two columns 'loss'"},
      {"step,loss\n1,2\n2\n", "a.csv:3: damaged: the row has 1 cells and the header 2"},
      {"step,loss\n1,2\n\n", "a.csv:3: damaged: the row has 1 cells and the header 2"},
      {"step,loss\n1,2,3\n", "a.csv:2: damaged: the row has 3 cells and the header 2"},
      {"step,loss\n1,2\n1,2\n", "a.csv:3: step 1 for the second time"},
      {"step,loss\n1.5,2\n", "a.csv:2: '1.5' is not a step"},
      {"step,loss\n,2\n", "a.csv:2: '' is not a step"},
      {"step,loss\n1,2x\n", "a.csv:2: '2x' is not a number"},
      {"step,loss\n1,\"2\"\n", "a.csv:2: quoted cells are not read"}};
  for (const auto& [text, message] : wrong) EXPECT_EQ(refusal([&] { parse_metrics(text, "a.csv", loss_only); }), message) << text;
}

TEST(ToleranceFile, GivesLimitsWithReasons) {
  const auto both =
      parse_tolerance("[loss]\nrelative = 1e-6\nabsolute = 2\nreason = \"r\"\nsingle = 1e-8\nserial = 1e-4\n", "t.toml");
  ASSERT_EQ(both.size(), 1u);
  EXPECT_EQ(both[0].quantity, "loss");
  EXPECT_EQ(both[0].relative, 1e-6);
  EXPECT_EQ(both[0].absolute, 2.0);
  EXPECT_EQ(both[0].reason, "r");
}

TEST(ToleranceFile, MistakesAreRefusedWithTheirLine) {
  const std::vector<std::pair<const char*, const char*>> wrong = {
      {"[loss]\nrelative = 1e-6\n", "t.toml:1: error: [loss] has no reason for its limit"},
      {"[loss]\nrelative = 1e-6\nreason = \" \"\n", "t.toml:1: error: [loss] has no reason for its limit"},
      {"[loss]\nreason = \"r\"\n", "t.toml:1: error: [loss] has no limit"},
      {"[loss]\nrelative = -1\nreason = \"r\"\n", "t.toml:2: error: loss.relative is not a number of at least 0"},
      {"[loss]\nrelative = nan\nreason = \"r\"\n", "t.toml:2: error: loss.relative is not a number of at least 0"},
      {"[loss]\nrelative = inf\nreason = \"r\"\n", "t.toml:2: error: loss.relative is not a number of at least 0"},
      {"[loss]\nrelativ = 1\nrelative = 1\nreason = \"r\"\n", "t.toml:2: error: loss.relativ: expected"},
      {"relative = 1\n", "t.toml:1: error: a key outside"},
      {"[loss]\nrelative = 1\nreason = \"r\"\n['']", "t.toml:4: error: a key outside of a [quantity], or a quantity without"},
      {"[\"\"]\nrelative = 1\n", "t.toml:2: error: a key outside of a [quantity], or a quantity without"},
      {"[loss\n", "t.toml:1: error: "},
      {"", "t.toml: error: no [quantity] in it"}};
  for (const auto& [text, message] : wrong) {
    const std::string said = refusal([&] { parse_tolerance(text, "t.toml"); });
    EXPECT_EQ(said.substr(0, std::string(message).size()), message) << text;
  }
}

std::vector<Check> three_checks() {
  Check pass{.subject = "odd", .quantity = "loss", .verdict = Verdict::pass};
  Check fail{.subject = "a<b>&\"c'", .quantity = "x", .verdict = Verdict::fail, .failure = "line 1\nline\x01 2"};
  Check skipped{.subject = "odd", .quantity = "gradients", .verdict = Verdict::skipped, .failure = "elsewhere"};
  return {pass, fail, skipped};
}

TEST(Verdicts, ReasonsAreNotesAndEqualOnesShareANumber) {
  std::vector<Check> checks = three_checks();
  checks[0].reason = checks[1].reason = "one reason", checks[2].reason = "another";
  const std::string text = table_text(checks);
  EXPECT_NE(text.find("\n[1] one reason\n[2] another\n3 checks"), std::string::npos) << text;
  EXPECT_NE(text.find("[1]  pass"), std::string::npos) << text;
  EXPECT_NE(text.find("[2]  skipped"), std::string::npos) << text;
}

TEST(Verdicts, TableEndsWithTheCount) {
  const std::string text = table_text(three_checks());
  EXPECT_TRUE(text.ends_with("\n3 checks, 1 passed, 1 failed, 1 skipped\n")) << text;
  EXPECT_NE(text.find("FAIL line 1"), std::string::npos);
  EXPECT_NE(text.find("skipped: elsewhere"), std::string::npos);
  EXPECT_TRUE(any_failed(three_checks()));
  EXPECT_FALSE(any_failed({three_checks()[0], three_checks()[2]}));
}

/// Checks that tags nest and that nothing is unescaped; returns the tags. Enough of XML for what JUnit's form needs.
std::vector<std::string> xml_tags(const std::string& text) {
  static const std::regex token(
      R"re(<\?xml [^<>]*\?>|<(/?)([a-z]+)((?: [a-z]+="(?:[^<>&"\x01-\x1f]|&(?:amp|lt|gt|quot|#[0-9]+);)*")*)(/?)>)re");
  static const std::regex plain(R"re((?:[^<>&\x01-\x09\x0b-\x1f]|&(?:amp|lt|gt|quot|#[0-9]+);)*)re");
  std::vector<std::string> tags, open;
  auto last = text.cbegin();
  for (std::sregex_iterator at(text.begin(), text.end(), token), end; at != end; ++at) {
    EXPECT_TRUE(std::regex_match(last, text.cbegin() + at->position(), plain))
        << std::string(last, text.cbegin() + at->position());
    last = text.cbegin() + at->position() + at->length();
    const std::string name = (*at)[2];
    if (name.empty()) continue;
    if ((*at)[1].length()) {
      EXPECT_FALSE(open.empty());
      EXPECT_EQ(open.back(), name);
      open.pop_back();
      continue;
    }
    tags.push_back(at->str());
    if (!(*at)[4].length()) open.push_back(name);
  }
  EXPECT_TRUE(open.empty());
  EXPECT_EQ(std::string(last, text.cend()), "\n");
  return tags;
}

TEST(Verdicts, JUnitIsWellFormedAndCounts) {
  const std::vector<std::string> expected = {
      "<testsuite name=\"s &amp; t\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\">",
      "<testcase classname=\"odd\" name=\"loss\">",
      "<testcase classname=\"a&lt;b&gt;&amp;&quot;c'\" name=\"x\">",
      "<failure message=\"line 1&#10;line? 2\">",
      "<testcase classname=\"odd\" name=\"gradients\">",
      "<skipped message=\"elsewhere\"/>"};
  EXPECT_EQ(xml_tags(junit_xml(three_checks(), "s & t")), expected);
  EXPECT_EQ(xml_tags(junit_xml({},
                               "a\xff"
                               "b"))
                .front(),
            "<testsuite name=\"a\uFFFDb\" tests=\"0\" failures=\"0\" errors=\"0\" skipped=\"0\">");
}

}  // namespace
}  // namespace trireme::view
