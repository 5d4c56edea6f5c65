// Pictures of a traced step. Oracle: the step made by hand, in whole milliseconds; sizes that a page can take.
#include "view/trace_pictures.h"

#include <tuple>

#include <gtest/gtest.h>

#include "validation/unit/support/expect_error.h"
#include "validation/unit/support/small_trace.h"
#include "validation/unit/support/xml.h"
#include "view/trace_summary.h"

namespace trireme::test {
namespace {

view::Part whole(const Trace& trace) { return view::part_of(trace, "", ""); }

TEST(TracePicture, CharactersShowWhatTakesTheirTime) {
  const std::string text = view::ascii_picture(by_hand(), 52, whole(by_hand()));  // 2 ms each
  EXPECT_NE(text.find("rank 0 pp0 tp0 dp0 |0000011111..........aaaaaaaaaa.......bbbbbbbbbb*****|\n"), std::string::npos) << text;
  EXPECT_NE(text.find("rank 1 pp1 tp0 dp0 |.....00000aaaaaaaaaa11111bbbbbbbbbbbb..........**...|\n"), std::string::npos) << text;
  EXPECT_NE(text.find("a column is 2 ms"), std::string::npos) << text;
}

TEST(TracePicture, TheDrawingHasEveryEventAndIsXml) {
  Trace trace = by_hand();
  trace.schedule = "<&\">";
  const std::string drawing = view::svg(view::timeline_of(trace, whole(trace)));
  EXPECT_EQ(xml_fault(drawing), "");
  std::size_t titles = 0;
  for (auto at = drawing.find("<title>"); at != std::string::npos; at = drawing.find("<title>", at + 1)) ++titles;
  EXPECT_EQ(titles, 14u) << "all 15 but the wait inside the optimizer step, which is a strip";
  EXPECT_NE(drawing.find("<title>wait for pp_gradient with rank 1, 64 bytes: 20 to 40 ms</title>"), std::string::npos);
  EXPECT_NE(drawing.find(">rank 1 pp1 tp0 dp0</text>"), std::string::npos);
  EXPECT_EQ(drawing.find("evaluation"), std::string::npos) << "the legend has what occurs";
  EXPECT_NE(drawing.find(">wait for a collective inside a pass or other work</text>"), std::string::npos);
  EXPECT_NE(drawing.find(">idle</text>"), std::string::npos);
}

TEST(TracePicture, ShowsTheRanksAndTheTimeThatAreAskedFor) {
  const Trace trace = by_hand();
  const view::Part part = view::part_of(trace, "1", "10-60");
  const std::string text = view::ascii_picture(trace, 25, part);  // 2 ms each
  EXPECT_NE(text.find("a column is 2 ms, the first begins at 10 ms"), std::string::npos) << text;
  EXPECT_NE(text.find("\nrank 1 pp1 tp0 dp0 |00000aaaaaaaaaa11111bbbbb|\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("rank 0"), std::string::npos);
  const std::string drawing = view::svg(view::timeline_of(trace, part));
  EXPECT_EQ(xml_fault(drawing), "");
  EXPECT_EQ(drawing.find("rank 0 pp0"), std::string::npos);
  EXPECT_NE(drawing.find("<title>backward of microbatch 1, chunk 0: 50 to 74 ms</title>"), std::string::npos);
  EXPECT_EQ(drawing.find("tied_embedding"), std::string::npos) << "it begins later";
  EXPECT_EQ(view::part_of(trace, "1,0-1", "").ranks, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(view::part_of(trace, "0", "1e-3-1e1").time.begin, 1e-3);
  EXPECT_NE(view::ascii_picture(trace, 10, view::part_of(trace, "", "100-1e9")).find("a column is 0.4 ms"), std::string::npos);
}

TEST(TracePicture, RefusesRanksAndTimesThatAreNotThere) {
  const std::vector<std::tuple<std::string, std::string, std::string>> wrong = {
      {"2", "", "--ranks=2: there is no rank 2: this trace has 2 ranks, counted from 0"},
      {"0-9", "", "there is no rank 9"},
      {"1-0", "", "'1-0' runs backwards"},
      {"a", "", "'a' is no rank and no range of ranks"},
      {"-1", "", "'-1' is no rank"},
      {"", "104.5-105", "--time=104.5-105: this step ends after 104 ms"},
      {"", "20-10", "expected A-B with A below B"},
      {"", "5-5", "expected A-B with A below B"},
      {"", "5", "expected A-B"},
      {"", "5-", "expected A-B"},
      {"", "-5", "expected A-B"},
      {"", "nan-5", "expected A-B"},
      {"", "1-inf", "expected A-B"},
      {"", "1-2ms", "expected A-B"}};
  for (const auto& [ranks, time, message] : wrong)
    expect_error(base::Exit::bad_input, {message}, [&, r = ranks, t = time] { view::part_of(by_hand(), r, t); });
}

/// A step of so many ranks in which every pass has waits in it, as tensor ranks have them, and one before it.
Trace of_ranks(int pipeline, int tensor, int microbatches, int waits) {
  Trace trace;
  trace.shape = {.tensor = tensor, .data = 1, .pipeline = pipeline};
  trace.microbatches = microbatches;
  trace.schedule = "1f1b";
  for (int rank = 0; rank < pipeline * tensor; ++rank) {
    const int stage = rank / tensor;
    store::RankTrace events{.host = "node", .at = {rank % tensor, 0, stage}, .events = {}};
    for (int k = 0; k < 2 * microbatches; ++k) {
      const int begin = stage + k * 20;
      if (k > 0) events.events.push_back(wait(Traffic::pp_activation, begin - 4, begin));
      events.events.push_back(k % 2 ? backward(k / 2, begin, begin + 15) : forward(k / 2, begin, begin + 14));
      for (int i = 0; i < waits; ++i) events.events.push_back(wait(Traffic::tp_all_reduce, begin + i, begin + i + 1));
    }
    trace.ranks.push_back(events);
  }
  return trace;
}

TEST(TracePicture, FitsOnAPageOnAnyNumberOfRanks) {
  for (const auto& [pipeline, tensor, microbatches, waits] :
       {std::tuple{2, 2, 16, 4}, {4, 4, 16, 8}, {16, 4, 64, 12}, {64, 1, 256, 2}, {1, 1, 2000, 12}}) {
    const Trace trace = of_ranks(pipeline, tensor, microbatches, waits);
    const std::string drawing = view::svg(view::timeline_of(trace, whole(trace)));
    const std::string what = std::to_string(pipeline * tensor) + " ranks";
    EXPECT_LE(std::stod(drawing.substr(drawing.find("width=\"") + 7)), 1600) << what;
    EXPECT_LE(drawing.size(), 2'000'000u) << what;
    EXPECT_EQ(xml_fault(drawing), "") << what;
  }
}

TEST(TracePicture, AStepThatTakesNoTimeIsShown) {
  Trace trace = by_hand();
  for (const double end : {0.0, 5e-324}) {
    for (store::RankTrace& rank : trace.ranks)
      for (TraceEvent& event : rank.events) event.begin = 0, event.end = end;
    EXPECT_EQ(xml_fault(view::svg(view::timeline_of(trace, whole(trace)))), "");
    for (const std::string& text : {view::trace_summary(trace), view::ascii_picture(trace, 40, whole(trace))})
      EXPECT_EQ(text.find("nan"), std::string::npos) << text;
  }
  trace.ranks[0].events.clear(), trace.ranks[1].events.clear();
  EXPECT_EQ(view::trace_summary(trace).find("nan"), std::string::npos) << view::trace_summary(trace);
  EXPECT_EQ(xml_fault(view::svg(view::timeline_of(trace, whole(trace)))), "");
}

}  // namespace
}  // namespace trireme::test
