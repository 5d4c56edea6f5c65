// What is drawn of a curve's points.
#pragma once

#include <vector>

namespace trireme::view {

struct Point {
  double x, y;
};

/// The mean of the points around a point, n / 50 on either side, where it may stand for the curve: its surroundings are whole,
/// and half of them have the same mean, as far as the noise lets one tell. Where a curve falls steeply and bends, the mean lies
/// beside it, and there is a gap (NaN). At most a thousand points, evenly chosen; none of fewer than 100.
std::vector<Point> running_means(const std::vector<Point>& points);

/// For a line through points in pixels, by x: of those in one column the first, the lowest, the highest and the last, which draw
/// the same line. Columns are half a pixel wide.
std::vector<Point> thinned(const std::vector<Point>& points);

}  // namespace trireme::view
