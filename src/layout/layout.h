// What a configuration and a number of ranks imply, made once and read by all: nobody derives it again. Pure: no rank, no MPI.
#pragma once

#include <optional>
#include <vector>

#include "config/config.h"
#include "grid/shape.h"
#include "schedule/messages.h"
#include "schedule/schedule.h"
#include "spec/memory.h"
#include "spec/stages.h"

namespace trireme::layout {

/// A schedule with the messages it implies.
struct Program {
  schedule::Schedule schedule;
  schedule::Messages messages;
  std::vector<std::size_t> channels;  // [messages.channels]: which of Layout::channels each of them is
};
/// `channels`: of the layout so far; those that the schedule needs and that are not among them are added.
Program make_program(schedule::Schedule schedule, std::vector<schedule::Channel>& channels);

struct Layout {
  grid::Shape shape;                        // t, d, p
  spec::StageMap stage_map;                 // which layers each stage holds
  std::vector<schedule::Channel> channels;  // between stages, in the order in which the grid makes them
  Program training;
  std::optional<Program> evaluation;      // its forward passes; nothing where the run does not evaluate
  std::vector<std::vector<int>> slots;    // [p][v]: buffers of a chunk, enough for training and evaluation
  std::vector<spec::StageMemory> memory;  // [p], of a rank of each stage, as training takes it

  /// The stage whose ranks take most memory.
  int costliest_stage() const;
};

/// `config` and `ranks` as config::check_layout passed them; d = ranks / (t p).
Layout make_layout(const config::Config& config, int ranks);

/// The forward passes alone, as an evaluation runs them.
schedule::Schedule forward_only(const schedule::Schedule& schedule);

}  // namespace trireme::layout
