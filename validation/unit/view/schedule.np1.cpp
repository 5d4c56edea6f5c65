// Pictures of schedules. Oracle: drawn by hand for p = 4, m = 8 with a backward pass two forward passes long; lengths of
// schedules from the formula of the bubble; sizes that a page can take.
#include <map>
#include <regex>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "validation/unit/support/words.h"
#include "validation/unit/support/xml.h"
#include "view/pieces.h"
#include "view/schedule_text.h"
#include "view/svg.h"
#include "view/timeline.h"

namespace trireme::view {
namespace {

using schedule::Act;
using schedule::Kind;
using schedule::make_schedule;
using schedule::Schedule;
using test::occurrences;

std::string picture_of(const Schedule& schedule, int columns) {
  const schedule::Timing timing = simulate(schedule, stage_costs(schedule));
  return picture({schedule, timing, columns});
}

std::string drawing_of(const Schedule& schedule) {
  return svg(timeline(schedule, simulate(schedule, stage_costs(schedule)), unit_of_time));
}

TEST(Render, PictureIsThatByHand) {
  EXPECT_EQ(picture_of(make_schedule(Kind::one_f_one_b, 4, 1, 8), 1),
            "stage 0 |0123......aa4bb5cc6dd7ee.ff.gg.hh| busy 72.7%\n"
            "stage 1 |.012....aa3bb4cc5dd6ee7ff.gg.hh..| busy 72.7%\n"
            "stage 2 |..01..aa2bb3cc4dd5ee6ff7gg.hh....| busy 72.7%\n"
            "stage 3 |...0aa1bb2cc3dd4ee5ff6gg7hh......| busy 72.7%\n"
            "         0         10        20        30\n");
}

// p = 2, m = 2: 6 units of work and 3 of waiting, with v = 2 half as many.
TEST(Render, APassThroughHalfAStageIsHalfAsLong) {
  const Schedule two = make_schedule(Kind::interleaved, 2, 2, 2), one = make_schedule(Kind::one_f_one_b, 2, 1, 2);
  EXPECT_EQ(picture_of(two, 2),
            "stage 0 |0101..aa.bbaabb| busy 80.0%\n"
            "stage 1 |.010aa1bbaabb..| busy 80.0%\n"
            "         0         5\n");
  EXPECT_EQ(picture_of(one, 2),
            "stage 0 |0011....aaaa..bbbb| busy 66.7%\n"
            "stage 1 |..00aaaa11bbbb....| busy 66.7%\n"
            "         0         5\n");
  EXPECT_EQ(picture_of(make_schedule(Kind::one_f_one_b, 1, 1, 1), 3), "stage 0 |000aaaaaa| busy 100.0%\n         0\n");
}

// A forward and a backward pass of a stage are 3 long, and what is idle is 1 + bubble of that (section 2.2).
TEST(Render, TheFasterScheduleIsTheShorterOne) {
  for (const int p : {2, 4, 8})
    for (const int chunks : {1, 2, 3, 4}) {
      const int m = 2 * p;
      const Schedule schedule = make_schedule(chunks == 1 ? Kind::one_f_one_b : Kind::interleaved, p, chunks, m);
      const double expected = 3.0 * m + 3.0 * (p - 1) / chunks;
      EXPECT_NEAR(simulate(schedule, stage_costs(schedule)).seconds, expected, 1e-9 * expected) << p << " " << chunks;
      EXPECT_NE(drawing_of(schedule).find(fmt::format("; {:.6g} forward passes of a whole stage", expected)), std::string::npos);
    }
}

TEST(Render, ListingNamesChunksWhenThereAreSeveral) {
  EXPECT_EQ(listing(make_schedule(Kind::one_f_one_b, 2, 1, 2)), "stage 0: F0 F1 B0 B1 step\nstage 1: F0 B0 F1 B1 step\n");
  const Schedule two{Kind::gpipe, 1, 2, 1, {{{Act::forward, 0, 0}, {Act::forward, 0, 1}}}};
  EXPECT_EQ(listing(two), "stage 0: F0.0 F0.1\n");
}

TEST(Render, DrawingHasABoxAPass) {
  const std::string drawing = drawing_of(make_schedule(Kind::gpipe, 3, 1, 12));
  EXPECT_EQ(occurrences(drawing, "<title>forward"), 36);
  EXPECT_EQ(occurrences(drawing, "<title>backward"), 36);
  EXPECT_EQ(occurrences(drawing, ">11</text>"), 6) << "the number in each box";
  EXPECT_EQ(occurrences(drawing, ">stage 2</text>"), 1);
  EXPECT_EQ(occurrences(drawing, "http"), 1) << "nothing from elsewhere but the name space";
}

TEST(Timeline, NumbersFitIntoTheirBoxesOnEightStages) {
  const std::string drawing = drawing_of(make_schedule(Kind::one_f_one_b, 8, 1, 24));
  EXPECT_EQ(test::xml_fault(drawing), "");
  for (const char* number : {">0</text>", ">17</text>", ">23</text>"})
    EXPECT_GE(occurrences(drawing, number), 16) << number << ": forward and backward on each of 8 stages";
}

TEST(Timeline, WhatIsInsideABoxLiesAtItsFootAndHidesNoNumber) {
  Timeline timeline{"", "ms", {{"rank 0", {{.begin = 0, .end = 10, .tint = Tint::forward, .number = 7, .title = "F7"}}}}};
  timeline.lanes[0].boxes.push_back({.begin = 1, .end = 2, .tint = Tint::collective, .inside = true, .title = "wait"});
  const std::string drawing = svg(timeline);
  EXPECT_EQ(test::xml_fault(drawing), "");
  EXPECT_EQ(occurrences(drawing, ">7</text>"), 1);
  EXPECT_EQ(occurrences(drawing, "<title>"), 1) << "the wait is a strip, no box";
  EXPECT_EQ(occurrences(drawing, "class=\"t4\""), 2) << "in the legend and in the row";
}

TEST(Timeline, TheLegendSaysWhatWhiteIsWhereThereIsWhite) {
  Timeline timeline{"", "ms", {{"rank 0", {{.begin = 0, .end = 10, .tint = Tint::forward, .title = ""}}}}};
  EXPECT_EQ(occurrences(svg(timeline), ">idle</text>"), 0);
  timeline.lanes.push_back({"rank 1", {{.begin = 0, .end = 9, .tint = Tint::forward, .title = ""}}});
  EXPECT_EQ(occurrences(svg(timeline), ">idle</text>"), 1);
}

TEST(Timeline, ALongLegendStaysInThePicture) {
  Timeline timeline{"", "ms", {{"rank 0", {}}}};
  for (int k = 0; k < 10; ++k)
    for (const bool inside : {false, true})
      timeline.lanes[0].boxes.push_back(
          {.begin = k * 1.0, .end = k + 0.9, .tint = static_cast<Tint>(k), .inside = inside, .title = ""});
  const std::string drawing = svg(timeline);
  EXPECT_EQ(test::xml_fault(drawing), "");
  const double width = std::stod(drawing.substr(drawing.find("width=\"") + 7));
  std::size_t entries = 0;
  for (auto at = drawing.find("<text "); at < drawing.find(">idle</text>"); at = drawing.find("<text ", at + 1), ++entries) {
    const auto group = drawing.rfind("translate(", at);  // of an entry of the legend
    const double shift = group == std::string::npos ? 0 : std::stod(drawing.substr(group + 10));
    const double x = shift + std::stod(drawing.substr(drawing.find("x=\"", at) + 3));
    const auto begin = drawing.find('>', at), end = drawing.find('<', begin);
    EXPECT_LE(x + 7.3 * static_cast<double>(end - begin - 1), width) << drawing.substr(begin, end - begin);
  }
  EXPECT_EQ(entries, 22u) << "the title, 20 and idle";
}

TEST(Timeline, LaterChunksAreLighterAndNothingIsDrawnOfNothing) {
  EXPECT_EQ(occurrences(drawing_of(make_schedule(Kind::interleaved, 2, 2, 4)), "class=\"t0l\""), 1 + 8);
  EXPECT_EQ(test::xml_fault(svg(Timeline{})), "");
}

double attribute(const std::string& drawing, const std::string& name) {
  return std::stod(drawing.substr(drawing.find(" " + name + "=\"") + name.size() + 3));
}

void expect_page(const std::string& drawing, const std::string& what) {
  EXPECT_LE(attribute(drawing, "width"), widest_drawing) << what;
  EXPECT_LE(drawing.size(), 2'000'000u) << what;
  EXPECT_EQ(test::xml_fault(drawing), "") << what;
}

TEST(Timeline, FitsOnAPageHoweverManyStagesAndPasses) {
  expect_page(drawing_of(make_schedule(Kind::one_f_one_b, 4, 1, 32)), "4 stages");
  expect_page(drawing_of(make_schedule(Kind::interleaved, 16, 2, 128)), "16 stages, 2 chunks");
  expect_page(drawing_of(make_schedule(Kind::one_f_one_b, 64, 1, 512)), "64 stages");
  expect_page(drawing_of(make_schedule(Kind::interleaved, 64, 4, 256)), "64 stages, 4 chunks");
  expect_page(drawing_of(make_schedule(Kind::one_f_one_b, 64, 1, 2000)), "64 stages, passes below a pixel");
  expect_page(drawing_of(make_schedule(Kind::gpipe, 256, 1, 64)), "256 stages");
  expect_page(drawing_of(make_schedule(Kind::gpipe, 1, 1, 100000)), "one stage, 200000 passes");
}

// Whatever is drawn has a colour on a light page and another rule on a dark one, and so has the ground.
TEST(Timeline, IsDrawnForLightPagesAndForDarkOnes) {
  Timeline all{"", "ms", {{"rank 0", {}}}};
  for (int k = 0; k < 10; ++k)
    for (const bool light : {false, true})
      all.lanes[0].boxes.push_back({.begin = k + light * 0.5,
                                    .end = k + 0.5 + light * 0.5,
                                    .tint = static_cast<Tint>(k),
                                    .light = light,
                                    .number = k,
                                    .title = ""});
  const std::string drawing = svg(all);
  const auto dark = drawing.find("@media (prefers-color-scheme: dark)"), style_end = drawing.find("</style>");
  ASSERT_LT(dark, style_end);
  const std::regex classes("class=\"([a-z0-9]+)\"");
  std::set<std::string> names;
  for (std::sregex_iterator it(drawing.begin(), drawing.end(), classes), end; it != end; ++it) names.insert((*it)[1]);
  EXPECT_EQ(names.size(), 40u + 3u) << "20 kinds of boxes, their numbers, ground, grid and frames";
  for (const std::string& name : names) {
    const auto rule = drawing.find("." + name + "{"), other = drawing.find("." + name + "{", dark);
    EXPECT_LT(rule, dark) << name;
    EXPECT_LT(other, style_end) << name;
  }
  EXPECT_EQ(drawing.substr(style_end).find("#"), std::string::npos) << "no colour that knows one kind of page only";
}

TEST(Timeline, AWindowCutsBoxesOffAtItsEnds) {
  Timeline timeline{"", "ms", {{"rank 0", {}}}, {10, 20}};
  for (const auto& [begin, end] : {std::pair{0.0, 9.0}, {8.0, 12.0}, {13.0, 14.0}, {19.0, 30.0}, {30.0, 31.0}})
    timeline.lanes[0].boxes.push_back({.begin = begin, .end = end, .tint = Tint::forward, .title = fmt::format("F{}", begin)});
  const std::string drawing = svg(timeline);
  EXPECT_EQ(test::xml_fault(drawing), "");
  EXPECT_EQ(occurrences(drawing, "<title>"), 3);
  EXPECT_EQ(occurrences(drawing, "<title>F8: 8 to 12 ms</title>"), 1) << "the box says when it really was";
  EXPECT_EQ(occurrences(drawing, ">20</text>"), 1) << "on the axis";
  EXPECT_EQ(occurrences(drawing, ">0</text>"), 0);
}

TEST(Timeline, TimesWithoutAnyLengthAreDrawn) {
  for (const double end : {0.0, 5e-324, 1e-300}) {
    const std::string drawing = svg({"", "ms", {{"rank 0", {{.begin = 0, .end = end, .tint = Tint::wait, .title = ""}}}}});
    EXPECT_EQ(test::xml_fault(drawing), "") << end;
    EXPECT_EQ(drawing.find("nan"), std::string::npos);
  }
}

Box box(double begin, double end, Tint tint) { return {.begin = begin, .end = end, .tint = tint, .title = ""}; }

// Boxes of 1/8 of a pixel, a third of the time idle: every tint keeps its share of the time, in far fewer pieces.
TEST(Pieces, NarrowBoxesArePooledAndSharesOfTheTimeStay) {
  Lane lane{"", {}};
  for (int k = 0; k < 8000; ++k) {
    lane.boxes.push_back(box(3 * k, 3 * k + 1, k % 4 == 0 ? Tint::wait : Tint::forward));
    lane.boxes.push_back(box(3 * k + 1, 3 * k + 2, Tint::backward));
  }
  const std::vector<Piece> pieces = pieces_of(lane, {.window = {}, .scale = 1 / 24.0});  // 1000 pixels
  std::map<Tint, double> sums;
  double before = 0;
  for (const Piece& piece : pieces) {
    sums[piece.box->tint] += piece.end - piece.begin;
    EXPECT_GE(piece.begin, before - 1e-9) << "no piece hides another";
    before = piece.end;
  }
  EXPECT_LE(pieces.size(), 3u * 500u) << "a tint in each of 500 cells";
  EXPECT_NEAR(sums[Tint::backward], 1000 / 3.0, 1e-6);
  EXPECT_NEAR(sums[Tint::forward], 250, 1e-6);
  EXPECT_GE(sums[Tint::wait], 1000 / 12.0 - 1e-6) << "seen, even where it would be less than 0.4 pixels";
}

TEST(Pieces, WideBoxesStayAsTheyAre) {
  const Lane lane{"", {box(0, 3, Tint::forward), box(3, 3.5, Tint::wait), box(4, 40, Tint::backward)}};
  const std::vector<Piece> pieces = pieces_of(lane, {.window = {1, 30}, .scale = 1});
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[0].begin, 0);
  EXPECT_EQ(pieces[0].end, 2);
  EXPECT_FALSE(pieces[1].pooled) << "one box alone";
  EXPECT_EQ(pieces[2].begin, 3);
  EXPECT_EQ(pieces[2].end, 29);
}

}  // namespace
}  // namespace trireme::view
