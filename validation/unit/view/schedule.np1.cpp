// Pictures of schedules. Oracle: drawn by hand for p = 4, m = 8 with a backward pass two forward passes long.
#include "view/schedule_text.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "command/schedule.h"
#include "validation/unit/support/xml.h"
#include "view/timeline.h"

namespace {

using namespace trireme;
using namespace trireme::schedule;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t number = 0;
  for (auto place = text.find(part); place != std::string::npos; place = text.find(part, place + 1)) ++number;
  return number;
}

TEST(Render, PictureIsThatByHand) {
  const Schedule schedule = make_schedule(Kind::one_f_one_b, 4, 1, 8);
  EXPECT_EQ(picture(schedule, simulate(schedule, 1, 2)),
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
  const std::string drawing = svg(timeline(schedule, simulate(schedule, 1, 2), "passes"));
  EXPECT_EQ(count(drawing, "<title>forward"), 36u);
  EXPECT_EQ(count(drawing, "<title>backward"), 36u);
  EXPECT_EQ(count(drawing, ">11</text>"), 6u) << "the number in each box";
  EXPECT_EQ(count(drawing, ">stage 2</text>"), 1u);
  EXPECT_EQ(count(drawing, "http"), 1u) << "nothing from elsewhere but the name space";
}

TEST(Timeline, NumbersFitIntoTheirBoxesOnEightStages) {
  const Schedule schedule = make_schedule(Kind::one_f_one_b, 8, 1, 64);
  const std::string drawing = svg(timeline(schedule, simulate(schedule, 1, 2), "passes"));
  EXPECT_EQ(test::xml_fault(drawing), "");
  for (const char* number : {">0</text>", ">37</text>", ">63</text>"})
    EXPECT_GE(count(drawing, number), 16u) << number << ": forward and backward on each of 8 stages";
}

TEST(Timeline, WhatIsInsideABoxLiesAtItsFootAndHidesNoNumber) {
  Timeline timeline{"", "ms", {{"rank 0", {{.begin = 0, .end = 10, .tint = Tint::forward, .number = 7, .title = "F7"}}}}};
  timeline.rows[0].boxes.push_back({.begin = 1, .end = 2, .tint = Tint::collective, .inside = true, .title = "wait"});
  const std::string drawing = svg(timeline);
  EXPECT_EQ(test::xml_fault(drawing), "");
  EXPECT_EQ(count(drawing, ">7</text>"), 1u);
  EXPECT_EQ(count(drawing, "<title>"), 1u) << "the wait is a strip, no box";
  EXPECT_EQ(count(drawing, "fill=\"#e69f00\""), 2u) << "in the legend and in the row";
}

TEST(Timeline, TheLegendSaysWhatWhiteIsWhereThereIsWhite) {
  Timeline timeline{"", "ms", {{"rank 0", {{.begin = 0, .end = 10, .tint = Tint::forward, .title = ""}}}}};
  EXPECT_EQ(count(svg(timeline), ">idle</text>"), 0u);
  timeline.rows.push_back({"rank 1", {{.begin = 0, .end = 9, .tint = Tint::forward, .title = ""}}});
  EXPECT_EQ(count(svg(timeline), ">idle</text>"), 1u);
}

TEST(Timeline, ALongLegendStaysInThePicture) {
  Timeline timeline{"", "ms", {{"rank 0", {}}}};
  for (int k = 0; k < 10; ++k)
    for (const bool inside : {false, true})
      timeline.rows[0].boxes.push_back(
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
  EXPECT_EQ(count(svg(timeline(schedule, simulate(schedule, 1, 2), "passes")), "fill=\"#a9c4ee\""), 1u + 8u);
  EXPECT_EQ(test::xml_fault(svg(Timeline{})), "");
}

std::string refusal(const command::ScheduleOptions& options) {
  try {
    command::schedule_report(options);
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), base::Exit::bad_input);
    return error.what();
  }
  return "nothing was refused";
}

TEST(ScheduleCommand, ReportsBubbleMemoryAndMessages) {
  const std::string text = command::schedule_report({"1f1b", 4, 1, 16, 2, ""});
  EXPECT_NE(text.find("stage 3 |...0aa1bb"), std::string::npos);
  EXPECT_NE(text.find("0.3750 of the work simulated, 0.3750 by the formula"), std::string::npos) << text;
  EXPECT_NE(text.find("4 3 2 1 by stage"), std::string::npos) << text;
  EXPECT_NE(text.find("48 a step on 6 channels"), std::string::npos) << text;
}

TEST(ScheduleCommand, WritesTheDrawing) {
  const auto file = std::filesystem::temp_directory_path() / ("schedule." + std::to_string(getpid()) + ".svg");
  command::schedule_report({"gpipe", 2, 1, 4, 1, file});
  std::ostringstream bytes;
  bytes << std::ifstream(file).rdbuf();
  std::filesystem::remove(file);
  EXPECT_EQ(bytes.str().rfind("<svg", 0), 0u);
}

TEST(ScheduleCommand, RefusesByKey) {
  EXPECT_EQ(refusal({"1f1b", 4, 1, 8, 1, "/no folder/x.svg"}), "/no folder/x.svg: cannot be written: No such file or directory");
  EXPECT_NE(refusal({"1F1B", 4, 1, 8, 1, ""}).find("parallel.schedule = \"1F1B\": expected one of gpipe, 1f1b"),
            std::string::npos);
  EXPECT_NE(refusal({"1f1b", 4, 1, 7, 2, ""}).find("batch.global = 7"), std::string::npos);
  EXPECT_NE(refusal({"1f1b", 4, 1, 0, 1, ""}).find("batch.global = 0"), std::string::npos);
  EXPECT_NE(refusal({"1f1b", 4, 3, 8, 1, ""}).find("parallel.virtual = 3"), std::string::npos);
  EXPECT_NE(refusal({"1f1b", 0, 1, 8, 1, ""}).find("parallel.pipeline = 0"), std::string::npos);
  EXPECT_NE(refusal({"1f1b", 1ll << 40, 1, 8, 1, ""}).find("too many"), std::string::npos);
  EXPECT_NE(refusal({"1f1b", 100000, 1, 100000, 1, ""}).find("at most"), std::string::npos);
  EXPECT_EQ(refusal({"gpipe", 501, 1, 1000, 1, "/no folder/x.svg"}),
            "--svg: 1002000 passes on all stages: at most 1000000 are drawn");
}

}  // namespace
