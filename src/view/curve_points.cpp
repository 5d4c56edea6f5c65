#include "view/curve_points.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trireme::view {
namespace {

constexpr std::size_t least_to_smooth = 100, most_means = 1000;

bool lower(const Point& a, const Point& b) { return a.y < b.y; }

/// Of the points from `first` to `last`, both included, that are finite; NaN without any.
double mean_of(const std::vector<Point>& points, std::size_t first, std::size_t last) {
  double sum = 0, count = 0;
  for (std::size_t k = first; k <= last; ++k)
    if (std::isfinite(points[k].y)) {
      sum += points[k].y;
      ++count;
    }
  return sum / count;
}

/// Whether `value` lies between the least and the largest of the same.
bool among(const std::vector<Point>& points, std::size_t first, std::size_t last, double value) {
  bool below = false, above = false;
  for (std::size_t k = first; k <= last; ++k) {
    below |= points[k].y <= value;
    above |= points[k].y >= value;
  }
  return below && above;
}

}  // namespace

std::vector<Point> running_means(const std::vector<Point>& points) {
  const std::size_t n = points.size(), reach = n / 50, near = std::max<std::size_t>(2, reach / 4);
  std::vector<Point> means;
  if (n < least_to_smooth) return means;
  for (std::size_t k = reach; k + reach < n; k += 1 + n / most_means) {
    const double mean = mean_of(points, k - reach, k + reach);
    const bool honest = among(points, k - std::min(near, k), std::min(k + near, n - 1), mean);
    means.push_back({points[k].x, honest ? mean : std::numeric_limits<double>::quiet_NaN()});
  }
  return means;
}

std::vector<Point> thinned(const std::vector<Point>& points) {
  std::vector<Point> kept;
  const auto column = [](const Point& point) { return std::floor(point.x * 2); };
  for (auto begin = points.begin(); begin != points.end();) {
    const auto end = std::find_if(begin, points.end(), [&](const Point& point) { return column(point) != column(*begin); });
    auto [low, high] = std::minmax_element(begin, end, lower);
    if (high < low) std::swap(low, high);
    for (const auto& at : {begin, low, high, end - 1})
      if (kept.empty() || kept.back().x != at->x || kept.back().y != at->y) kept.push_back(*at);
    begin = end;
  }
  return kept;
}

}  // namespace trireme::view
