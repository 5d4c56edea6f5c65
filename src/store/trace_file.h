// What the ranks did in one step, as a file: traces/step-00000010.h5.
//
//   rank-00003/  kind microbatch chunk peer bytes (int64), begin end (seconds), flops (float64): an element an event
//   config       the resolved configuration, a text
//   attributes of the file: step, ranks, tensor, pipeline, data, virtual, microbatches, schedule, kinds (the names that `kind`
//   counts, separated by commas), flops_convention; of a rank: host, tensor, data, pipeline, clock_offset, clock_error, missed
//
// The file is sealed (store/seal.h): HDF5 sees the bytes that were written, or nothing.
#pragma once

#include <string>
#include <vector>

#include "base/new_file.h"
#include "grid/activity.h"
#include "grid/shape.h"
#include "store/hdf5_file.h"

namespace trireme::store {

/// begin, end: seconds since the step's start, the earliest of all ranks, on rank 0's clock.
struct TraceEvent : grid::Event {
  double flops = 0;  // of a forward or backward pass on this rank; 0 of all else
};

struct RankTrace {
  std::string host;
  grid::Coordinates at;
  double clock_offset = 0, clock_error = 0;  // seconds: rank 0's clock less this rank's at the step's start; it is no further off
  std::int64_t missed = 0;                   // events for which there was no room
  std::vector<TraceEvent> events;            // by begin; what is nested comes after what it lies in
};

/// For each event the place of the innermost one it lies in; -1: in none.
std::vector<int> enclosing(const std::vector<TraceEvent>& events);

struct TraceHeader {
  std::int64_t step = 0;  // counted from 1
  grid::Shape shape;
  std::int64_t chunks = 1, microbatches = 1;  // v, m
  std::string schedule;
  std::string config;  // resolved, TOML
};

struct Trace : TraceHeader {
  std::vector<RankTrace> ranks;
};

/// Writes rank after rank, so that no process holds the events of all. The file has its name from finish() on;
/// before that, and after an error, nothing has changed under it.
class TraceWriter {
 public:
  TraceWriter(std::string path, const TraceHeader& header);
  void add(const RankTrace& trace);
  void finish();

 private:
  base::NewFile new_file_;
  Hdf5File file_;
  int ranks_ = 0;
};

/// Throws base::Error (bad_input) for a file that cannot be read, is no trace or is not as it was written, and for numbers that
/// cannot be: not finite, an event that ends before it begins, of a microbatch, chunk or peer that is not there, or days outside
/// of the step; names file and rank. Never takes more memory than a few times the file's size.
Trace read_trace(const std::string& path);

}  // namespace trireme::store
