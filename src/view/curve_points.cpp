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

/// Standard deviation of one point from a slow curve through them, by the differences of neighbours.
double noise_of(const std::vector<Point>& points, std::size_t first, std::size_t last) {
  double sum = 0, count = 0;
  for (std::size_t k = first; k < last; ++k)
    if (const double difference = points[k + 1].y - points[k].y; std::isfinite(difference)) {
      sum += difference * difference;
      ++count;
    }
  return std::sqrt(sum / count / 2);
}

/// The mean of `reach` points on either side of point k, if that of half as many is the same within three standard errors: else
/// the curve bends here. NaN if it does.
double honest_mean(const std::vector<Point>& points, std::size_t k, std::size_t reach) {
  const std::size_t half = reach / 2;
  const double mean = mean_of(points, k - reach, k + reach), near = mean_of(points, k - half, k + half);
  const double error = noise_of(points, k - reach, k + reach) / std::sqrt(static_cast<double>(2 * half + 1));
  return std::abs(mean - near) <= 3 * error ? mean : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::vector<Point> running_means(const std::vector<Point>& points) {
  const std::size_t n = points.size(), reach = n / 50;
  std::vector<Point> means;
  if (n < least_to_smooth) return means;
  for (std::size_t k = reach; k + reach < n; k += 1 + n / most_means)
    means.push_back({points[k].x, honest_mean(points, k, reach)});
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
