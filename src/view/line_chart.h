// Curves over steps (whole numbers), as one SVG file that needs nothing else.
#pragma once

#include <string>
#include <vector>

#include "view/curve_points.h"

namespace trireme::view {

struct Curve {
  std::string name;           // in the legend; with several of them
  std::vector<Point> points;  // by x; a y that the axis does not hold leaves a gap
  bool smoothed = false;      // with a thin line of running means (curve_points.h) where there may be one
  std::size_t colour = 0;
  bool dashed = false;
};

/// A value that curves are held against: a dashed line across, with its name.
struct Level {
  std::string name;
  double y;
};

struct Chart {
  std::string title, x_label, y_label;
  bool logarithmic = false;  // the y axis; values not above 0 leave gaps
  bool from_zero = false;    // the y axis
  std::vector<Curve> curves;
  std::vector<Level> levels = {};
};

/// Throws base::Error (bad_input) naming the chart when there is no point to draw.
std::string line_chart(const Chart& chart);

/// Whether there is a point to draw: one whose y the axis holds (axis.h).
bool has_points(const Chart& chart);

}  // namespace trireme::view
