// What is said and drawn of a traced step. Oracle: a step made by hand, two stages and two microbatches, in whole milliseconds;
// numbers worked out by hand and printed to three digits, so exact.
#include <functional>
#include <limits>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "store/hdf5_file.h"
#include "store/seal.h"
#include "validation/unit/support/process.h"
#include "validation/unit/support/small_trace.h"
#include "view/trace_pictures.h"
#include "view/trace_summary.h"

namespace trireme::test {
namespace {

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
  EXPECT_EQ(refusal(folder / "checkpoint.h5").rfind(folder / "checkpoint.h5" + ": not the trace of a step: ", 0), 0u);
  EXPECT_NE(refusal(folder / "checkpoint.h5").find("ranks"), std::string::npos) << "sealed, and what it lacks";
  store::seal(folder / "text.h5");
  EXPECT_NE(refusal(folder / "text.h5").find("text.h5"), std::string::npos) << "sealed, and no HDF5";
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
