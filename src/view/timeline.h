// The picture of who does what when: of a schedule as planned, and of a step as measured.
#pragma once

#include <string>
#include <vector>

#include "schedule/timing.h"

namespace trireme::schedule {

enum class Tint { forward, backward, weight_gradient, wait, collective, optimizer, data, evaluation, output, checkpoint };

struct Box {
  double begin = 0, end = 0;  // in the timeline's unit
  Tint tint = Tint::wait;
  bool light = false;   // a chunk after the first: all of them share a shade
  bool inside = false;  // lies in another box: drawn as a thin strip at the foot of the row
  int number = -1;      // of the microbatch, written where it fits; -1: none
  std::string title;    // shown where the mouse rests
};

struct Row {
  std::string label;
  std::vector<Box> boxes;
};

struct Timeline {
  std::string title, unit;  // of time, e.g. "ms"
  std::vector<Row> rows;
};

/// One SVG file that needs nothing else, as wide as its numbers need: a row each, time to the right from 0, white where nothing
/// is. Tints differ in lightness too, for eyes that tell colours apart badly.
std::string svg(const Timeline& timeline);

/// A row a stage; its passes are the boxes.
Timeline timeline(const Schedule& schedule, const Timing& timing, const std::string& unit);

}  // namespace trireme::schedule
