// What is said and drawn of a traced step. Oracle: a step made by hand, two stages and two microbatches, in whole milliseconds;
// numbers worked out by hand and printed to three digits, so exact.
#include <functional>
#include <limits>
#include <map>
#include <tuple>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "store/hdf5_file.h"
#include "store/seal.h"
#include "validation/unit/support/expect_error.h"
#include "validation/unit/support/process.h"
#include "validation/unit/support/xml.h"
#include "view/trace_pictures.h"
#include "view/trace_summary.h"

namespace trireme::test {
namespace {

using grid::kind_of;
using grid::Traffic;
using grid::Work;
using store::Trace;
using store::TraceEvent;

TraceEvent event(int kind, int begin, int end, grid::Subject subject = {}, double flops = 0) {
  return {{begin * 1e-3, end * 1e-3, kind, subject, grid::is_wait(kind) ? 64 : 0}, flops};
}
TraceEvent forward(int microbatch, int begin, int end, int chunk = 0) {
  return event(kind_of(Work::forward), begin, end, {microbatch, chunk, -1}, 1e9);
}
TraceEvent backward(int microbatch, int begin, int end) {
  return event(kind_of(Work::backward), begin, end, {microbatch, 0, -1}, 2e9);
}
TraceEvent wait(Traffic kind, int begin, int end, int peer = -1) { return event(kind_of(kind), begin, end, {-1, -1, peer}); }

/// p = 2, m = 2, v = 1; rank 1's last backward pass is slow.
Trace by_hand() {
  Trace trace;
  trace.step = 10;
  trace.shape = {.tensor = 1, .data = 1, .pipeline = 2};
  trace.microbatches = 2;
  trace.schedule = "1f1b";
  trace.config = "[model]\n";
  trace.ranks = {
      {.host = "node-a",
       .at = {0, 0, 0},
       .events = {forward(0, 0, 10), forward(1, 10, 20), wait(Traffic::pp_gradient, 20, 40, 1), backward(0, 40, 60),
                  wait(Traffic::pp_gradient, 60, 74, 1), backward(1, 74, 94), event(kind_of(Work::optimizer_step), 94, 104),
                  wait(Traffic::control, 96, 100)}},
      {.host = "node-b",
       .at = {0, 0, 1},
       .clock_offset = -0.25,
       .clock_error = 2e-6,
       .missed = 3,
       .events = {wait(Traffic::pp_activation, 0, 10, 0), forward(0, 10, 20), backward(0, 20, 40), forward(1, 40, 50),
                  backward(1, 50, 74), wait(Traffic::tied_embedding, 74, 94), event(kind_of(Work::optimizer_step), 94, 98)}}};
  return trace;
}

/// The line of `text` that contains `word`, its runs of spaces as one.
std::string line_with(const std::string& text, const std::string& word) {
  const auto at = text.find(word);
  if (at == std::string::npos) return "no line with " + word + " in\n" + text;
  const auto begin = text.rfind('\n', at) + 1;
  std::string line;
  for (const char c : text.substr(begin, text.find('\n', at) - begin))
    if (c != ' ' || (!line.empty() && line.back() != ' ')) line += c;
  return line;
}

TEST(Trace, AnEventKnowsTheInnermostOneItLiesIn) {
  const std::vector<TraceEvent> events = {forward(0, 0, 10), wait(Traffic::tp_all_reduce, 1, 9), wait(Traffic::control, 2, 9),
                                          wait(Traffic::tp_all_reduce, 9, 10), wait(Traffic::pp_activation, 10, 12)};
  EXPECT_EQ(store::enclosing(events), (std::vector<int>{-1, 0, 1, 0, -1}));
}

void write(const Trace& trace, const std::string& path) {
  store::TraceWriter writer(path, trace);
  for (const store::RankTrace& rank : trace.ranks) writer.add(rank);
  writer.finish();
}

TEST(Trace, ComesBackFromItsFileAsItWas) {
  const Folder folder;
  const Trace written = by_hand();
  store::TraceWriter writer(folder / "t.h5", written);
  for (const store::RankTrace& rank : written.ranks) writer.add(rank);
  EXPECT_FALSE(fs::exists(folder / "t.h5")) << "no half file has the name";
  writer.finish();
  EXPECT_FALSE(fs::exists(folder / "t.h5.partial"));
  const Trace read = store::read_trace(folder / "t.h5");
  const store::Hdf5File file = store::Hdf5File::open(folder / "t.h5");
  const std::map<std::string, std::string> units = {{"begin", "s"}, {"end", "s"}, {"bytes", "byte"}, {"flops", "flop"}};
  for (const auto& [column, unit] : units) EXPECT_EQ(file.attribute<std::string>("rank-00000/" + column, "unit"), unit);
  EXPECT_EQ(read.step, 10);
  EXPECT_EQ(read.schedule, "1f1b");
  EXPECT_EQ(read.config, "[model]\n");
  EXPECT_EQ(read.shape.pipeline, 2);
  ASSERT_EQ(read.ranks.size(), 2u);
  EXPECT_EQ(read.ranks[1].host, "node-b");
  EXPECT_EQ(read.ranks[1].at, (grid::Coordinates{0, 0, 1}));
  EXPECT_EQ(read.ranks[1].clock_offset, -0.25);
  EXPECT_EQ(read.ranks[1].missed, 3);
  for (std::size_t r = 0; r < 2; ++r) {
    ASSERT_EQ(read.ranks[r].events.size(), written.ranks[r].events.size());
    for (std::size_t k = 0; k < read.ranks[r].events.size(); ++k) {
      const TraceEvent &a = read.ranks[r].events[k], &b = written.ranks[r].events[k];
      EXPECT_TRUE(a.begin == b.begin && a.end == b.end && a.kind == b.kind && a.flops == b.flops && a.bytes == b.bytes &&
                  a.subject.microbatch == b.subject.microbatch && a.subject.chunk == b.subject.chunk &&
                  a.subject.peer == b.subject.peer)
          << r << " " << k;
    }
  }
}

std::string refusal(const std::string& path) {
  try {
    store::read_trace(path);
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), base::Exit::bad_input);
    return error.what();
  }
  return "nothing was refused";
}

TEST(Trace, AnotherFileIsRefusedByName) {
  const Folder folder;
  EXPECT_NE(refusal(folder / "none.h5").find("none.h5"), std::string::npos);
  std::ofstream(folder / "text.h5") << "not HDF5";
  EXPECT_NE(refusal(folder / "text.h5").find("text.h5"), std::string::npos);
  store::Hdf5File::create(folder / "other.h5").close();
  EXPECT_EQ(refusal(folder / "other.h5").rfind(folder / "other.h5" + ": not the trace of a step", 0), 0u);
  store::Hdf5File checkpoint = store::Hdf5File::create(folder / "checkpoint.h5");
  checkpoint.set_attribute<std::int64_t>("/", "step", 3);
  checkpoint.close();
  EXPECT_EQ(refusal(folder / "checkpoint.h5").rfind(folder / "checkpoint.h5" + ": not the trace of a step", 0), 0u);
  store::seal(folder / "checkpoint.h5");
  EXPECT_EQ(refusal(folder / "checkpoint.h5"), folder / "checkpoint.h5" + ": not the trace of a step") << "sealed, and no trace";
}

TEST(Trace, DamagedNumbersAreRefusedByFileAndRank) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<std::string, std::function<void(Trace&)>>> damages = {
      {"event 1: a number is not finite", [&](Trace& trace) { trace.ranks[1].events[1].begin = nan; }},
      {"event 1: a number is not finite", [&](Trace& trace) { trace.ranks[1].events[1].end = 1 / 0.0; }},
      {"event 1: a number is not finite", [&](Trace& trace) { trace.ranks[1].events[1].flops = nan; }},
      {"event 2: it ends at 0.01 s, before it begins at 0.02 s", [](Trace& trace) { trace.ranks[1].events[2].end = 0.01; }},
      {"event 6: from 0.094 s to 1e+12 s after the step's start", [](Trace& trace) { trace.ranks[1].events[6].end = 1e12; }},
      {"event 0: from -1e+12 s", [](Trace& trace) { trace.ranks[1].events[0].begin = -1e12; }},
      {"event 2: it begins before the one before it", [](Trace& trace) { trace.ranks[1].events[2].begin = 0.001; }},
      {"there is no kind 1000", [](Trace& trace) { trace.ranks[1].events[1].kind = 1000; }},
      {"there is no kind -1", [](Trace& trace) { trace.ranks[1].events[1].kind = -1; }},
      {"event 1: microbatch 2", [](Trace& trace) { trace.ranks[1].events[1].subject.microbatch = 2; }},
      {"event 1: chunk 1", [](Trace& trace) { trace.ranks[1].events[1].subject.chunk = 1; }},
      {"event 0: peer 2", [](Trace& trace) { trace.ranks[1].events[0].subject.peer = 2; }},
      {"event 0: 0 flops, -1 bytes", [](Trace& trace) { trace.ranks[1].events[0].bytes = -1; }},
      {"its clock", [&](Trace& trace) { trace.ranks[1].clock_error = nan; }},
      {"its place in the grid", [](Trace& trace) { trace.ranks[1].at.pipeline = 0; }}};
  const Folder folder;
  const std::string path = folder / "t.h5";
  for (const auto& [message, damage] : damages) {
    Trace trace = by_hand();
    damage(trace);
    write(trace, path);
    EXPECT_EQ(refusal(path).rfind(path + ": rank-00001: damaged: " + message, 0), 0u) << message << "\n" << refusal(path);
  }
  Trace trace = by_hand();
  trace.microbatches = 0;
  write(trace, path);
  EXPECT_EQ(refusal(path), path + ": damaged: the file's attributes make no sense");
}

TEST(TraceSummary, AddsUpByKind) {
  const Trace trace = by_hand();
  const std::string text = view::trace_summary(trace);
  EXPECT_TRUE(line_with(text, "  forward ").starts_with("forward 20.000 20.000 20.000 ")) << text;  // both ranks have the most
  EXPECT_EQ(line_with(text, "  backward "), "backward 40.000 42.000 44.000 1");
  EXPECT_EQ(line_with(text, "  optimizer_step"), "optimizer_step 4.000 5.000 6.000 0") << "without the wait in it";
  EXPECT_EQ(line_with(text, "pp_activation"), "wait: pp_activation 0.000 5.000 10.000 1");
  EXPECT_EQ(line_with(text, "pp_gradient"), "wait: pp_gradient 0.000 17.000 34.000 0");
  EXPECT_EQ(line_with(text, "tied_embedding"), "wait: tied_embedding 0.000 10.000 20.000 1");
  EXPECT_EQ(line_with(text, "wait: control"), "wait: control 0.000 2.000 4.000 0");
  EXPECT_EQ(line_with(text, "  idle"), "idle 0.000 3.000 6.000 1");
  EXPECT_EQ(text.find("tp_all_reduce"), std::string::npos) << "nothing that did not happen";
  // 10 + 34 + 20 + 4 of 2 x 104 ms
  EXPECT_EQ(
      line_with(text, "exposed"),
      "communication exposed: 32.7 % of the ranks' time is spent waiting for it: other stages 21.2 %, tied embedding 9.6 %, "
      "agreement 1.9 %");
  EXPECT_EQ(line_with(text, "slowest"),
            "slowest rank in forward + backward, without waits: 1 on node-b (64.000 ms; mean 62.000 ms)");
  EXPECT_NE(text.find("96.8 GFLOP/s a rank"), std::string::npos) << text;  // 6e9 in 62 ms
  EXPECT_NE(text.find("2.0 us"), std::string::npos);
  EXPECT_NE(text.find("3 events are missing"), std::string::npos);
  EXPECT_NE(text.find("2 ranks on 2 hosts; 104.000 ms"), std::string::npos) << text;
}

TEST(TraceSummary, ARankThatWaitsInsideItsPassesIsNotTheSlowest) {
  Trace trace = by_hand();
  trace.ranks[1].events.insert(trace.ranks[1].events.begin() + 5, wait(Traffic::tp_all_reduce, 52, 62));  // of 50 to 74
  EXPECT_EQ(line_with(view::trace_summary(trace), "slowest"),
            "slowest rank in forward + backward, without waits: 0 on node-a (60.000 ms; mean 57.000 ms)");
  EXPECT_NEAR(view::measured_bubble(trace), 94.0 / 62 - 1, 1e-12) << "the bubble counts the wait as work";
}

TEST(TraceSummary, OneRankIsOne) {
  Trace trace = by_hand();
  trace.shape.pipeline = 1;
  trace.ranks.pop_back();
  EXPECT_NE(view::trace_summary(trace).find("\n1 rank on 1 host; "), std::string::npos);
}

TEST(TraceSummary, TheBubbleIsTheTimeOfThePassesBeyondTheirWork) {
  EXPECT_NEAR(view::measured_bubble(by_hand()), 94.0 / 62 - 1, 1e-12);  // rounding of a few sums
  EXPECT_EQ(view::bubble_by_formula(by_hand()), 0.5);
  EXPECT_EQ(view::measured_bubble(Trace{}), 0);
}

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

struct Slice {
  double begin, end;
  std::string name;
};

/// The name of the slice of the work thread of `pid` around `ts`.
std::string slice_at(const std::map<int, std::vector<Slice>>& slices, int pid, double ts) {
  for (const Slice& slice : slices.at(pid))
    if (slice.begin <= ts && ts <= slice.end) return slice.name;
  return "none";
}

/// "0:F0>1:F0" of each arrow.
std::vector<std::string> arrows(const Trace& trace) {
  const auto json = nlohmann::json::parse(view::perfetto_json(trace));
  std::map<int, std::vector<Slice>> slices;
  std::map<int, std::string> started;
  for (const auto& e : json.at("traceEvents"))
    if (e.at("ph") == "X" && e.at("tid") == 0) {
      const double begin = e.at("ts"), duration = e.at("dur");
      slices[e.at("pid")].push_back({begin, begin + duration, e.at("name")});
    }
  std::vector<std::string> found;
  for (const auto& e : json.at("traceEvents")) {
    if (e.at("ph") != "s" && e.at("ph") != "f") continue;
    const int pid = e.at("pid"), id = e.at("id");
    const std::string end = std::to_string(pid) + ":" + slice_at(slices, pid, e.at("ts"));
    if (e.at("ph") == "s")
      started[id] = end;
    else
      found.push_back(started.at(id) + ">" + end);
  }
  EXPECT_EQ(found.size(), started.size());
  std::sort(found.begin(), found.end());
  return found;
}

TEST(Perfetto, ArrowsGoFromEachPassToTheOneThatNeedsIt) {
  EXPECT_EQ(arrows(by_hand()), (std::vector<std::string>{"0:F0>1:F0", "0:F1>1:F1", "1:B0>0:B0", "1:B1>0:B1"}));
}

TEST(Perfetto, ArrowsDoNotGoBackWhereClocksDisagreeWithinTheirError) {
  Trace trace = by_hand();
  for (TraceEvent& event : trace.ranks[1].events) event.begin -= 3e-3, event.end -= 3e-3;
  trace.ranks[1].clock_error = 4e-3;
  EXPECT_EQ(arrows(trace), (std::vector<std::string>{"0:F0>1:F0", "0:F1>1:F1", "1:B0>0:B0", "1:B1>0:B1"}));
  std::map<int, double> begin;
  const auto json = nlohmann::json::parse(view::perfetto_json(trace));
  for (const auto& e : json.at("traceEvents")) {
    if (e.at("ph") == "s") begin[e.at("id")] = e.at("ts");
    if (e.at("ph") != "f") continue;
    EXPECT_GE(e.at("ts").get<double>(), begin.at(e.at("id"))) << e;
  }
}

TEST(Perfetto, ArrowsFollowTheModelChunks) {
  Trace trace = by_hand();
  trace.chunks = 2;  // model chunks 0 and 2 on rank 0, 1 and 3 on rank 1
  trace.ranks[0].events = {forward(0, 0, 10), forward(0, 20, 30, 1)};
  trace.ranks[1].events = {forward(0, 10, 20), forward(0, 30, 40, 1)};
  EXPECT_EQ(arrows(trace), (std::vector<std::string>{"0:F0>1:F0", "0:F0>1:F0", "1:F0>0:F0"}));
}

TEST(Perfetto, ProcessesAreNamedAndSlicesTellAll) {
  const auto json = nlohmann::json::parse(view::perfetto_json(by_hand()));
  bool named = false, waited = false;
  for (const auto& e : json.at("traceEvents")) {
    named |= e.at("ph") == "M" && e.at("args").value("name", "") == "rank 1 pp1 tp0 dp0 @node-b";
    waited |= e.at("ph") == "X" && e.at("name") == "pp_activation" && e.at("pid") == 1 && e.at("ts") == 0.0 &&
              e.at("dur") == 10000.0 && e.at("args").at("peer") == 0 && e.at("args").at("bytes") == 64;
  }
  EXPECT_TRUE(named);
  EXPECT_TRUE(waited);
}

}  // namespace
}  // namespace trireme::test
