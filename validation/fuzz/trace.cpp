// The trace of a step, and everything that is made of it. Its checksum is looked at before HDF5 sees the file: what is damaged
// ends there, which is what this shows.
#include "store/trace_file.h"
#include "validation/fuzz/format.h"
#include "validation/fuzz/scratch.h"
#include "view/trace_pictures.h"
#include "view/trace_summary.h"

namespace trireme::fuzz {
namespace {

std::string written() {
  const Scratch scratch;
  store::TraceHeader header;
  header.step = 3;
  header.microbatches = 2;
  header.schedule = "1f1b";
  header.config = "[model]\nlayers = 1\n";
  store::TraceWriter writer(scratch.file("trace.h5"), header);
  store::RankTrace rank;
  rank.host = "a-host";
  for (int microbatch = 0; microbatch < 2; ++microbatch) {
    store::TraceEvent event;
    event.kind = kind_of(grid::Work::forward);
    event.subject.microbatch = microbatch;
    event.subject.chunk = 0;
    event.begin = microbatch;
    event.end = microbatch + 0.5;
    rank.events.push_back(event);
  }
  writer.add(rank);
  writer.finish();
  return scratch.get("trace.h5");
}

void read(const std::string& bytes) {
  static const Scratch scratch;
  const store::Trace trace = store::read_trace(scratch.put("trace.h5", bytes));
  view::trace_summary(trace);
  const view::Part part = view::part_of(trace, "", "");
  view::ascii_picture(trace, 80, part);
  view::perfetto_json(trace);
  view::svg(view::timeline_of(trace, part));
}

}  // namespace

Format trace() {
  return {"trace", [] { return std::vector<std::string>{written()}; }, read};
}

}  // namespace trireme::fuzz
