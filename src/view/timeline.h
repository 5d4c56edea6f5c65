// The picture of who does what when: of a schedule as planned, and of a step as measured.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "schedule/timing.h"

namespace trireme::view {

enum class Tint { forward, backward, weight_gradient, wait, collective, optimizer, data, evaluation, output, checkpoint };

struct Box {
  double begin = 0, end = 0;  // in the timeline's unit
  Tint tint = Tint::wait;
  bool light = false;   // a chunk after the first: all of them share a shade
  bool inside = false;  // lies in another box: drawn as a thin strip at the foot of the lane
  int number = -1;      // of the microbatch, written where it fits; -1: none
  std::string title;    // shown where the mouse rests
};

/// What one stage or one rank does.
struct Lane {
  std::string label;
  std::vector<Box> boxes;  // by begin
};

/// A part of the time.
struct Window {
  double begin = 0, end = std::numeric_limits<double>::infinity();
};

struct Timeline {
  std::string title, unit;  // of time, e.g. "ms"
  std::vector<Lane> lanes;
  Window window = {};  // what is drawn, at most until the last box's end
};

/// One SVG file that needs nothing else, at most widest_drawing wide: lanes below each other, time to the right, the ground where
/// nothing is. Boxes too narrow to be told apart are pooled, a box a tint for every two pixels, as wide together as they are. Few
/// boxes have their titles. Tints differ in lightness too, for eyes that tell colours apart badly.
std::string svg(const Timeline& timeline);

/// The colour of an action.
Tint tint_of(schedule::Act act);

/// A lane a stage; its passes are the boxes.
Timeline timeline(const schedule::Schedule& schedule, const schedule::Timing& timing, const std::string& unit);

}  // namespace trireme::view
