// A step made by hand: two stages, two microbatches, in whole milliseconds.
#pragma once

#include "store/trace_file.h"

namespace trireme::test {

using grid::kind_of;
using grid::Traffic;
using grid::Work;
using store::Trace;
using store::TraceEvent;

inline TraceEvent event(int kind, int begin, int end, grid::Subject subject = {}, double flops = 0) {
  return {{begin * 1e-3, end * 1e-3, kind, subject, grid::is_wait(kind) ? 64 : 0}, flops};
}
inline TraceEvent forward(int microbatch, int begin, int end, int chunk = 0) {
  return event(kind_of(Work::forward), begin, end, {microbatch, chunk, -1}, 1e9);
}
inline TraceEvent backward(int microbatch, int begin, int end) {
  return event(kind_of(Work::backward), begin, end, {microbatch, 0, -1}, 2e9);
}
inline TraceEvent wait(Traffic kind, int begin, int end, int peer = -1) {
  return event(kind_of(kind), begin, end, {-1, -1, peer});
}

/// p = 2, m = 2, v = 1; rank 1's last backward pass is slow.
inline Trace by_hand() {
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

}  // namespace trireme::test
