// Curves over steps (whole numbers), as one SVG file that needs nothing else.
#pragma once

#include <string>
#include <vector>

namespace trireme::view {

struct Point {
  double x, y;
};

struct Curve {
  std::string name;           // in the legend; with several of them
  std::vector<Point> points;  // by x; a y that is not finite leaves a gap
  bool smoothed = false;      // drawn pale, under a line of running means where there are points enough
};

struct Chart {
  std::string title, x_label, y_label;
  bool logarithmic = false;  // the y axis; values not above 0 leave gaps
  bool from_zero = false;    // the y axis
  std::vector<Curve> curves;
};

/// Throws base::Error (bad_input) naming the chart when there is no point to draw.
std::string line_chart(const Chart& chart);

/// Whether there is a point to draw: finite, and above 0 on a logarithmic axis.
bool has_points(const Chart& chart);

/// Each the mean of the points around it, n / 20 on either side (fewer at the ends, the same on both); gaps are left out.
std::vector<Point> running_means(const std::vector<Point>& points);

}  // namespace trireme::view
