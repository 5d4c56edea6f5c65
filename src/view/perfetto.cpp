#include <algorithm>
#include <map>
#include <tuple>

#include <nlohmann/json.hpp>

#include "view/trace_kinds.h"
#include "view/trace_pictures.h"

namespace trireme::view {
namespace {

using Json = nlohmann::ordered_json;
using store::Trace;
using store::TraceEvent;

constexpr int work_thread = 0, wait_thread = 1;

double microseconds(double seconds) { return seconds * 1e6; }

/// "F3", "B3": what fits into a narrow slice; else the kind's name.
std::string slice_name(const TraceEvent& event) {
  if (is_pass(event.kind)) return std::string(facts(*act_of(event.kind)).symbol) + std::to_string(event.subject.microbatch);
  return std::string(grid::name_of_kind(event.kind));
}

Json slice(const TraceEvent& event, std::size_t rank) {
  Json arguments = Json::object();
  const auto add = [&](const char* name, std::int64_t value, bool known) {
    if (known) arguments[name] = value;
  };
  add("microbatch", event.subject.microbatch, event.subject.microbatch >= 0);
  add("chunk", event.subject.chunk, event.subject.chunk >= 0);
  add("peer", event.subject.peer, event.subject.peer >= 0);
  add("bytes", event.bytes, event.bytes > 0);
  if (event.flops > 0) arguments["flops"] = event.flops;
  return {{"ph", "X"},
          {"pid", rank},
          {"tid", grid::is_wait(event.kind) ? wait_thread : work_thread},
          {"ts", microseconds(event.begin)},
          {"dur", microseconds(event.end - event.begin)},
          {"name", slice_name(event)},
          {"cat", grid::name_of_kind(event.kind)},
          {"args", arguments}};
}

void name_process(Json& events, const Trace& trace, std::size_t rank) {
  const auto meta = [&](const char* what, int thread, Json arguments) {
    events.push_back({{"ph", "M"}, {"pid", rank}, {"tid", thread}, {"name", what}, {"args", std::move(arguments)}});
  };
  meta("process_name", 0, {{"name", rank_label(trace, rank) + " @" + trace.ranks[rank].host}});
  meta("process_sort_index", 0, {{"sort_index", rank}});
  meta("thread_name", work_thread, {{"name", "work"}});
  meta("thread_name", wait_thread, {{"name", "waits"}});
}

/// One pass: kind, microbatch, model chunk, tensor and data coordinate.
using PassName = std::tuple<int, int, int, int, int>;
struct PassOfRank {
  const TraceEvent* event;
  std::size_t rank;
};

std::map<PassName, PassOfRank> passes_of(const Trace& trace) {
  std::map<PassName, PassOfRank> passes;
  for (std::size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const auto& [tensor, data, pipeline] = trace.ranks[rank].at;
    for (const TraceEvent& event : trace.ranks[rank].events)
      if (is_pass(event.kind))
        passes[{event.kind, event.subject.microbatch, event.subject.chunk * trace.shape.pipeline + pipeline, tensor, data}] = {
            &event, rank};
  }
  return passes;
}

/// An arrow binds to the slice around its time stamp, so its ends lie a little inside.
Json flow(const char* phase, std::size_t id, const PassOfRank& at, double share) {
  const double time = at.event->begin + share * (at.event->end - at.event->begin);
  return {{"ph", phase},          {"id", id},        {"pid", at.rank},
          {"tid", work_thread},   {"bp", "e"},       {"ts", microseconds(time)},
          {"name", "microbatch"}, {"cat", "message"}};
}

void add_flows(Json& events, const Trace& trace) {
  const auto passes = passes_of(trace);
  std::size_t id = 0;
  for (const auto& [name, sender] : passes) {
    auto next = name;
    std::get<2>(next) += facts(*act_of(std::get<0>(name))).flow;
    const auto receiver = passes.find(next);
    if (receiver == passes.end() || receiver->second.rank == sender.rank) continue;
    events.push_back(flow("s", ++id, sender, 0.99));
    events.push_back(flow("f", id, receiver->second, 0.01));
    // Between clocks that are not quite one, what is received may seem to come before it is sent.
    const double begin = events[events.size() - 2]["ts"], end = events.back()["ts"];
    const double error = trace.ranks[sender.rank].clock_error + trace.ranks[receiver->second.rank].clock_error;
    if (begin - end <= microseconds(error)) events.back()["ts"] = std::max(begin, end);
  }
}

}  // namespace

std::string perfetto_json(const Trace& trace) {
  Json events = Json::array();
  for (std::size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    name_process(events, trace, rank);
    for (const TraceEvent& event : trace.ranks[rank].events) events.push_back(slice(event, rank));
  }
  add_flows(events, trace);
  Json clocks = Json::array();
  for (const store::RankTrace& rank : trace.ranks) clocks.push_back({{"offset", rank.clock_offset}, {"error", rank.clock_error}});
  return Json{{"traceEvents", events},
              {"displayTimeUnit", "ms"},
              {"otherData", {{"step", trace.step}, {"schedule", trace.schedule}, {"clocks_seconds", clocks}}}}
             .dump() +
         "\n";
}

}  // namespace trireme::view
