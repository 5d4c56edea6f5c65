#include "store/trace_file.h"

#include <algorithm>
#include <filesystem>
#include <type_traits>

#include "base/error.h"
#include "base/text.h"

namespace trireme::store {
namespace {

std::string partial(const std::string& path) { return path + ".partial"; }

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
    if (events.empty()) events.resize(values.size());
    if (values.size() != events.size())
      base::refuse("{}: {}/{} is shorter or longer than other columns", file.path(), group, name);
    for (std::size_t k = 0; k < values.size(); ++k)
      get(events[k]) = static_cast<std::decay_t<decltype(get(events[k]))>>(values[k]);
  });
  const std::vector<std::int32_t> kinds = kinds_of(file);
  for (TraceEvent& event : events) {
    if (event.kind < 0 || event.kind >= std::ssize(kinds))
      base::refuse("{}: {}: there is no kind {}", file.path(), group, event.kind);
    event.kind = kinds[static_cast<std::size_t>(event.kind)];
  }
  return events;
}

RankTrace read_rank(const Hdf5File& file, const std::string& group) {
  const auto integer = [&](const char* name) { return file.attribute<std::int64_t>(group, name); };
  const auto coordinate = [&](const char* name) { return static_cast<int>(integer(name)); };
  return {.host = file.attribute<std::string>(group, "host"),
          .at = {coordinate("tensor"), coordinate("data"), coordinate("pipeline")},
          .clock_offset = file.attribute<double>(group, "clock_offset"),
          .clock_error = file.attribute<double>(group, "clock_error"),
          .missed = integer("missed"),
          .events = read_events(file, group)};
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
    : path_(std::move(path)), file_(Hdf5File::create(partial(path_))) {
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
  text("config", header.config);
}

void TraceWriter::add(const RankTrace& trace) {
  const std::string group = group_of(ranks_++);
  for_each_column([&](const std::string& name, auto get) {
    using T = Stored<decltype(get)>;
    std::vector<T> values;
    for (const TraceEvent& event : trace.events) values.push_back(static_cast<T>(get(event)));
    file_.write_column<T>(group + "/" + name, values);
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
  std::error_code error;
  std::filesystem::rename(partial(path_), path_, error);
  if (error) base::fail("{}: cannot be renamed to {}: {}", partial(path_), path_, error.message());
}

Trace read_trace(const std::string& path) {
  const Hdf5File file = Hdf5File::open(path);
  const auto integer = [&](const char* name) { return file.attribute<std::int64_t>("/", name); };
  const auto small = [&](const char* name) { return static_cast<int>(integer(name)); };
  try {
    Trace trace;
    trace.step = integer("step");
    trace.shape = {small("tensor"), small("data"), small("pipeline")};
    trace.chunks = integer("virtual");
    trace.microbatches = integer("microbatches");
    trace.schedule = file.attribute<std::string>("/", "schedule");
    trace.config = file.attribute<std::string>("/", "config");
    for (int rank = 0; rank < small("ranks"); ++rank) trace.ranks.push_back(read_rank(file, group_of(rank)));
    return trace;
  } catch (const base::Error& error) {
    base::refuse("{}: no trace of a step: {}", path, error.what());
  }
}

}  // namespace trireme::store
