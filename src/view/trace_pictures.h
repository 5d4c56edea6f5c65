// One traced step as a drawing, as characters, and as a file for ui.perfetto.dev.
#pragma once

#include <string>
#include <vector>

#include "store/trace_file.h"
#include "view/timeline.h"

namespace trireme::view {

/// "rank 3 pp1 tp0 dp0"
std::string rank_label(const store::Trace& trace, std::size_t rank);

/// What a picture shows of a trace.
struct Part {
  std::vector<std::size_t> ranks;
  Window time = {};  // milliseconds
};

/// The part that a user asks for: ranks as "0-3,8", all when empty; milliseconds as "A-B", the whole step when empty. Throws
/// base::Error (bad_input) for words that are none, for ranks that the trace does not have, and for a time in which nothing is.
Part part_of(const store::Trace& trace, const std::string& ranks, const std::string& time);

/// A lane a rank, milliseconds.
Timeline timeline_of(const store::Trace& trace, const Part& part);

/// A row a rank of so many columns, in the form of `trireme schedule`: digits are forward passes, letters backward passes, stars
/// other work, dots idle or waiting. A column shows what takes most of its time.
std::string ascii_picture(const store::Trace& trace, int columns, const Part& part);

/// Chrome's trace format, JSON: a process a rank, whose threads are its work and its waits; an arrow from each pass to the pass
/// on another rank that needs what it made.
std::string perfetto_json(const store::Trace& trace);

}  // namespace trireme::view
