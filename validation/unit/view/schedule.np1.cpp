// Pictures of schedules. Oracle: drawn by hand for p = 4, m = 8 with a backward pass two forward passes long.
#include <string>

#include <gtest/gtest.h>

#include "validation/unit/support/xml.h"
#include "view/schedule_text.h"
#include "view/timeline.h"

namespace trireme::view {
namespace {

using schedule::Act;
using schedule::Kind;
using schedule::make_schedule;
using schedule::Schedule;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t number = 0;
  for (auto place = text.find(part); place != std::string::npos; place = text.find(part, place + 1)) ++number;
  return number;
}

TEST(Render, PictureIsThatByHand) {
  const Schedule schedule = make_schedule(Kind::one_f_one_b, 4, 1, 8);
  EXPECT_EQ(picture(schedule, simulate(schedule)),
            "stage 0 |0123......aa4bb5cc6dd7ee.ff.gg.hh| busy 72.7%\n"
            "stage 1 |.012....aa3bb4cc5dd6ee7ff.gg.hh..| busy 72.7%\n"
            "stage 2 |..01..aa2bb3cc4dd5ee6ff7gg.hh....| busy 72.7%\n"
            "stage 3 |...0aa1bb2cc3dd4ee5ff6gg7hh......| busy 72.7%\n");
}

TEST(Render, ListingNamesChunksWhenThereAreSeveral) {
  EXPECT_EQ(listing(make_schedule(Kind::one_f_one_b, 2, 1, 2)), "stage 0: F0 F1 B0 B1 step\nstage 1: F0 B0 F1 B1 step\n");
  const Schedule two{Kind::gpipe, 1, 2, 1, {{{Act::forward, 0, 0}, {Act::forward, 0, 1}}}};
  EXPECT_EQ(listing(two), "stage 0: F0.0 F0.1\n");
}

TEST(Render, DrawingHasABoxAPass) {
  const Schedule schedule = make_schedule(Kind::gpipe, 3, 1, 12);
  const std::string drawing = svg(timeline(schedule, simulate(schedule), "passes"));
  EXPECT_EQ(count(drawing, "<title>forward"), 36u);
  EXPECT_EQ(count(drawing, "<title>backward"), 36u);
  EXPECT_EQ(count(drawing, ">11</text>"), 6u) << "the number in each box";
  EXPECT_EQ(count(drawing, ">stage 2</text>"), 1u);
  EXPECT_EQ(count(drawing, "http"), 1u) << "nothing from elsewhere but the name space";
}

TEST(Timeline, NumbersFitIntoTheirBoxesOnEightStages) {
  const Schedule schedule = make_schedule(Kind::one_f_one_b, 8, 1, 64);
  const std::string drawing = svg(timeline(schedule, simulate(schedule), "passes"));
  EXPECT_EQ(test::xml_fault(drawing), "");
  for (const char* number : {">0</text>", ">37</text>", ">63</text>"})
    EXPECT_GE(count(drawing, number), 16u) << number << ": forward and backward on each of 8 stages";
}

TEST(Timeline, WhatIsInsideABoxLiesAtItsFootAndHidesNoNumber) {
  Timeline timeline{"", "ms", {{"rank 0", {{.begin = 0, .end = 10, .tint = Tint::forward, .number = 7, .title = "F7"}}}}};
  timeline.lanes[0].boxes.push_back({.begin = 1, .end = 2, .tint = Tint::collective, .inside = true, .title = "wait"});
  const std::string drawing = svg(timeline);
  EXPECT_EQ(test::xml_fault(drawing), "");
  EXPECT_EQ(count(drawing, ">7</text>"), 1u);
  EXPECT_EQ(count(drawing, "<title>"), 1u) << "the wait is a strip, no box";
  EXPECT_EQ(count(drawing, "fill=\"#e69f00\""), 2u) << "in the legend and in the row";
}

TEST(Timeline, TheLegendSaysWhatWhiteIsWhereThereIsWhite) {
  Timeline timeline{"", "ms", {{"rank 0", {{.begin = 0, .end = 10, .tint = Tint::forward, .title = ""}}}}};
  EXPECT_EQ(count(svg(timeline), ">idle</text>"), 0u);
  timeline.lanes.push_back({"rank 1", {{.begin = 0, .end = 9, .tint = Tint::forward, .title = ""}}});
  EXPECT_EQ(count(svg(timeline), ">idle</text>"), 1u);
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
    const double x = std::stod(drawing.substr(drawing.find("x=\"", at) + 3));
    const auto begin = drawing.find('>', at), end = drawing.find('<', begin);
    EXPECT_LE(x + 7.3 * static_cast<double>(end - begin - 1), width) << drawing.substr(begin, end - begin);
  }
  EXPECT_EQ(entries, 22u) << "the title, 20 and idle";
}

TEST(Timeline, LaterChunksAreLighterAndNothingIsDrawnOfNothing) {
  const Schedule schedule = make_schedule(Kind::interleaved, 2, 2, 4);
  EXPECT_EQ(count(svg(timeline(schedule, simulate(schedule), "passes")), "fill=\"#a9c4ee\""), 1u + 8u);
  EXPECT_EQ(test::xml_fault(svg(Timeline{})), "");
}

}  // namespace
}  // namespace trireme::view
