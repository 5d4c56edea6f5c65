#include "store/trace_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "store/seal.h"

namespace trireme::store {
namespace {

constexpr std::int64_t most_of_anything = 1 << 30;  // ranks, microbatches ...
constexpr double furthest = 30 * 86400;             // seconds from the step's start: no step takes a month

constexpr std::int64_t bytes_of_event = 64;  // in the file: eight columns

std::string group_of(int rank) { return fmt::format("rank-{:05}", rank); }

/// Each column once: its name, and where an event has it.
template <class Visit>
void for_each_column(Visit visit) {
  visit(
      "kind", [](auto& event) -> auto& { return event.kind; });
  visit(
      "microbatch", [](auto& event) -> auto& { return event.subject.microbatch; });
  visit(
      "chunk", [](auto& event) -> auto& { return event.subject.chunk; });
  visit(
      "peer", [](auto& event) -> auto& { return event.subject.peer; });
  visit(
      "bytes", [](auto& event) -> auto& { return event.bytes; });
  visit(
      "begin", [](auto& event) -> auto& { return event.begin; });
  visit(
      "end", [](auto& event) -> auto& { return event.end; });
  visit(
      "flops", [](auto& event) -> auto& { return event.flops; });
}

/// Empty: a number or a name.
std::string unit_of(const std::string& column) {
  if (column == "begin" || column == "end") return "s";
  return column == "bytes" ? "byte" : column == "flops" ? "flop" : "";
}

/// The type on disk of what `get` finds.
template <class Get>
using Stored =
    std::conditional_t<std::is_floating_point_v<std::decay_t<std::invoke_result_t<Get, TraceEvent&>>>, double, std::int64_t>;

std::string kind_names() {
  std::string names;
  for (int kind = 0; kind < grid::activity_kinds; ++kind) names += fmt::format("{}{}", kind ? "," : "", grid::name_of_kind(kind));
  return names;
}

/// The kinds of the program that wrote the file, as those of this one.
std::vector<std::int32_t> kinds_of(const Hdf5File& file) {
  std::vector<std::int32_t> kinds;
  for (const std::string& name : base::split(file.attribute<std::string>("/", "kinds"), ',')) {
    int kind = 0;
    while (kind < grid::activity_kinds && grid::name_of_kind(kind) != name) ++kind;
    if (kind == grid::activity_kinds) base::refuse("{}: this version knows no event '{}'", file.path(), name);
    kinds.push_back(kind);
  }
  return kinds;
}

std::vector<TraceEvent> read_events(const Hdf5File& file, const std::string& group) {
  std::vector<TraceEvent> events;
  for_each_column([&](const std::string& name, auto get) {
    const auto values = file.read_column<Stored<decltype(get)>>(group + "/" + name);
    if (name == "kind") events.resize(values.size());  // the first
    if (values.size() != events.size())
      base::refuse("{}: {}/{} is shorter or longer than other columns", file.path(), group, name);
    for (std::size_t k = 0; k < values.size(); ++k) {
      using T = std::decay_t<decltype(get(events[k]))>;
      if constexpr (std::is_integral_v<T>)
        if (!std::in_range<T>(values[k]))
          base::refuse("{}: {}: damaged: event {}: {} {}", file.path(), group, k, name, values[k]);
      get(events[k]) = static_cast<T>(values[k]);
    }
  });
  const std::vector<std::int32_t> kinds = kinds_of(file);
  for (TraceEvent& event : events) {
    if (event.kind < 0 || event.kind >= std::ssize(kinds))
      base::refuse("{}: {}: damaged: there is no kind {}", file.path(), group, event.kind);
    event.kind = kinds[static_cast<std::size_t>(event.kind)];
  }
  return events;
}

RankTrace read_rank(const Hdf5File& file, const std::string& group) {
  const auto integer = [&](const char* name) { return file.attribute<std::int64_t>(group, name); };
  const auto coordinate = [&](const char* name) {
    const std::int64_t value = integer(name);
    if (!std::in_range<int>(value)) base::refuse("{}: {}: damaged: {} {}", file.path(), group, name, value);
    return static_cast<int>(value);
  };
  return {.host = file.attribute<std::string>(group, "host"),
          .at = {coordinate("tensor"), coordinate("data"), coordinate("pipeline")},
          .clock_offset = file.attribute<double>(group, "clock_offset"),
          .clock_error = file.attribute<double>(group, "clock_error"),
          .missed = integer("missed"),
          .events = read_events(file, group)};
}

TraceHeader read_header(const Hdf5File& file) {
  const auto integer = [&](const char* name) { return file.attribute<std::int64_t>("/", name); };
  TraceHeader header;
  std::int64_t ranks = 0, tensor = 0, data = 0, pipeline = 0;
  try {
    header.step = integer("step");
    ranks = integer("ranks"), tensor = integer("tensor"), data = integer("data"), pipeline = integer("pipeline");
    header.chunks = integer("virtual");
    header.microbatches = integer("microbatches");
    header.schedule = file.attribute<std::string>("/", "schedule");
    header.config = file.read_text("config");
  } catch (const base::Error& error) {
    base::refuse("{}: not the trace of a step: {}", file.path(), error.what());
  }
  for (const std::int64_t number : {ranks, tensor, data, pipeline, header.chunks, header.microbatches})
    if (number < 1 || number > most_of_anything) base::refuse("{}: damaged: the file's attributes make no sense", file.path());
  if (tensor * data != ranks / pipeline || ranks % pipeline != 0)
    base::refuse("{}: damaged: {} ranks cannot be t = {} x p = {} x d = {}", file.path(), ranks, tensor, pipeline, data);
  header.shape = {static_cast<int>(tensor), static_cast<int>(data), static_cast<int>(pipeline)};
  return header;
}

/// What is wrong with an event; empty: nothing.
std::string fault_of(const TraceEvent& event, const TraceHeader& header) {
  const auto& [microbatch, chunk, peer] = event.subject;
  if (!std::isfinite(event.begin) || !std::isfinite(event.end) || !std::isfinite(event.flops)) return "a number is not finite";
  if (event.end < event.begin) return fmt::format("it ends at {} s, before it begins at {} s", event.end, event.begin);
  if (event.begin < -furthest || event.end > furthest)
    return fmt::format("from {:.4g} s to {:.4g} s after the step's start", event.begin, event.end);
  if (event.flops < 0 || event.bytes < 0) return fmt::format("{} flops, {} bytes", event.flops, event.bytes);
  const bool pass = event.kind == kind_of(grid::Work::forward) || event.kind == kind_of(grid::Work::backward);
  if (microbatch < (pass ? 0 : -1) || (pass && microbatch >= header.microbatches))
    return fmt::format("microbatch {}", microbatch);
  if (chunk < (pass ? 0 : -1) || chunk >= header.chunks) return fmt::format("chunk {}", chunk);
  if (peer < -1 || peer >= header.shape.ranks()) return fmt::format("peer {}", peer);
  return "";
}

/// Refuses what was read of a rank when its numbers cannot be.
void check(const RankTrace& trace, const TraceHeader& header, int rank, const std::string& place) {
  if (trace.at != coordinates_of(header.shape, rank)) base::refuse("{}: damaged: its place in the grid is another rank's", place);
  if (!std::isfinite(trace.clock_offset) || !std::isfinite(trace.clock_error) || trace.clock_error < 0 || trace.missed < 0)
    base::refuse("{}: damaged: its clock or its count of missed events makes no sense", place);
  for (std::size_t k = 0; k < trace.events.size(); ++k) {
    std::string fault = fault_of(trace.events[k], header);
    if (fault.empty() && k > 0 && trace.events[k].begin < trace.events[k - 1].begin) fault = "it begins before the one before it";
    if (!fault.empty()) base::refuse("{}: damaged: event {}: {}", place, k, fault);
  }
}

Trace read_sealed(const std::string& path) {
  const Hdf5File file = Hdf5File::open(path);
  Trace trace;
  static_cast<TraceHeader&>(trace) = read_header(file);
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path));
  std::int64_t events = 0;
  for (int rank = 0; rank < trace.shape.ranks(); ++rank) {
    trace.ranks.push_back(read_rank(file, group_of(rank)));
    check(trace.ranks.back(), trace, rank, path + ": " + group_of(rank));
    events += std::ssize(trace.ranks.back().events);
    if (events > bytes / bytes_of_event) base::refuse("{}: damaged: {} events in {} bytes", path, events, bytes);
  }
  return trace;
}

}  // namespace

std::vector<int> enclosing(const std::vector<TraceEvent>& events) {
  std::vector<int> result, open;
  for (const TraceEvent& event : events) {
    while (!open.empty() && events[static_cast<std::size_t>(open.back())].end < event.end) open.pop_back();
    result.push_back(open.empty() ? -1 : open.back());
    open.push_back(static_cast<int>(result.size()) - 1);
  }
  return result;
}

TraceWriter::TraceWriter(std::string path, const TraceHeader& header)
    : new_file_(std::move(path)), file_(Hdf5File::create(new_file_.partial())) {
  const auto integer = [&](const char* name, std::int64_t value) { file_.set_attribute<std::int64_t>("/", name, value); };
  const auto text = [&](const char* name, const std::string& value) { file_.set_attribute<std::string>("/", name, value); };
  integer("step", header.step);
  integer("ranks", header.shape.ranks());
  integer("tensor", header.shape.tensor);
  integer("data", header.shape.data);
  integer("pipeline", header.shape.pipeline);
  integer("virtual", header.chunks);
  integer("microbatches", header.microbatches);
  text("schedule", header.schedule);
  text("kinds", kind_names());
  text("flops_convention",
       "matrix products, attention dense (72 B s l h^2 (1 + s/(6h) + V/(12 l h)) a step), shared out by layer, tensor rank and "
       "microbatch");
  file_.write_text("config", header.config);
}

void TraceWriter::add(const RankTrace& trace) {
  const std::string group = group_of(ranks_++);
  for_each_column([&](const std::string& name, auto get) {
    using T = Stored<decltype(get)>;
    std::vector<T> values;
    for (const TraceEvent& event : trace.events) values.push_back(static_cast<T>(get(event)));
    file_.write_column<T>(group + "/" + name, values);
    if (const std::string unit = unit_of(name); !unit.empty()) file_.set_attribute<std::string>(group + "/" + name, "unit", unit);
  });
  file_.set_attribute<std::string>(group, "host", trace.host);
  file_.set_attribute<std::int64_t>(group, "tensor", trace.at.tensor);
  file_.set_attribute<std::int64_t>(group, "data", trace.at.data);
  file_.set_attribute<std::int64_t>(group, "pipeline", trace.at.pipeline);
  file_.set_attribute<double>(group, "clock_offset", trace.clock_offset);
  file_.set_attribute<double>(group, "clock_error", trace.clock_error);
  file_.set_attribute<std::int64_t>(group, "missed", trace.missed);
}

void TraceWriter::finish() {
  file_.close();
  seal(new_file_.partial());
  new_file_.publish();
}

Trace read_trace(const std::string& path) {
  if (const std::string fault = seal_fault(path); !fault.empty()) base::refuse("{}: not the trace of a step: {}", path, fault);
  try {
    return read_sealed(path);
  } catch (const base::Error& error) {
    throw base::Error(base::Exit::bad_input, error.what());  // whatever the reason, the file will not do
  }
}

}  // namespace trireme::store
