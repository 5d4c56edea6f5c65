#include "view/line_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/error.h"
#include "view/svg.h"

namespace trireme::view {
namespace {

constexpr double width = 860, height = 420, left = 78, right = 20, digit_width = 7.3, top = 50, bottom = 50;  // pixels
/// Blue and orange: told apart by all eyes.
constexpr std::array<const char*, 4> colours = {"#2f5fb3", "#d55e00", "#4aa564", "#7b3f98"};
constexpr std::size_t least_to_smooth = 40;  // points

struct Interval {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double share(double value) const { return (value - low) / (high - low); }
};

bool drawn(const Chart& chart, const Point& point) {
  return std::isfinite(point.x) && std::isfinite(point.y) && (!chart.logarithmic || point.y > 0);
}

bool has_points(const Chart& chart, const Curve& curve) {
  return std::any_of(curve.points.begin(), curve.points.end(), [&](const Point& point) { return drawn(chart, point); });
}

class Drawing {
 public:
  explicit Drawing(const Chart& chart) : chart_(chart) {
    for (const Curve& curve : chart.curves)
      for (const Point& point : curve.points)
        if (drawn(chart, point)) {
          x_.add(point.x);
          y_.add(scaled(point.y));
        }
    if (!has_points(chart)) base::refuse("{}: there is nothing to draw", chart.title);
    if (chart.from_zero) y_.add(0);
    const double room = y_.high > y_.low ? 0.04 * (y_.high - y_.low) : std::max(std::abs(y_.high) * 0.1, 0.05);
    y_.high += room;
    if (!chart.from_zero) y_.low -= room;
    if (x_.high == x_.low) x_ = {x_.low - 1, x_.high + 1};
  }

  std::string text() {
    out_ = svg_head(width, height);
    out_ += fmt::format("<text x=\"{}\" y=\"20\" font-size=\"14\">{}</text>\n", left, xml_text(chart_.title));
    axes();
    for (std::size_t k = 0; k < chart_.curves.size(); ++k) draw(k);
    return out_ + "</svg>\n";
  }

 private:
  double scaled(double value) const { return chart_.logarithmic ? std::log10(value) : value; }
  double x(double value) const { return left + x_.share(value) * (width - left - right); }
  double y(double shown) const { return height - bottom - y_.share(shown) * (height - top - bottom); }

  /// Values of the y axis; logarithmic: 1, 2 and 5 in each power of ten, or the powers alone where there are many, or round
  /// numbers where all lie in a part of one power.
  std::vector<double> y_ticks() const {
    if (!chart_.logarithmic) return round_ticks(y_.low, y_.high, 6);
    const double decades = y_.high - y_.low;
    if (decades < 0.7) return round_ticks(std::pow(10, y_.low), std::pow(10, y_.high), 5);
    std::vector<double> ticks;
    const double apart = std::ceil(decades / 8);
    for (double power = std::floor(y_.low); power <= y_.high; power += apart)
      for (const double digit : {1.0, 2.0, 5.0})
        if ((digit == 1 || decades < 3) && std::log10(digit) + power >= y_.low && std::log10(digit) + power <= y_.high)
          ticks.push_back(digit * std::pow(10, power));
    return ticks;
  }

  void axes() {
    for (const double tick : y_ticks())
      out_ += fmt::format(
          "<path d=\"M{0} {1:.2f}H{2}\" stroke=\"#e3e3e3\"/><text x=\"{3}\" y=\"{4:.2f}\" text-anchor=\"end\">{5:.6g}</text>\n",
          left, y(scaled(tick)), width - right, left - 6, y(scaled(tick)) + 4, tick);
    for (const double tick : round_ticks(x_.low, x_.high, 8, 1)) {
      const std::string label = fmt::format("{:.10g}", tick);
      const double inside = width - 4 - digit_width / 2 * static_cast<double>(label.size());  // the last one stays in the picture
      out_ += fmt::format(
          "<path d=\"M{0:.2f} {1}V{2}\" stroke=\"#e3e3e3\"/><text x=\"{3:.2f}\" y=\"{4}\" text-anchor=\"middle\">{5}</text>\n",
          x(tick), top, height - bottom, std::min(x(tick), inside), height - bottom + 18, label);
    }
    out_ += fmt::format("<path d=\"M{0} {1}V{2}H{3}\" fill=\"none\" stroke=\"#333333\"/>\n", left, top, height - bottom,
                        width - right);
    out_ += fmt::format("<text x=\"{:.0f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", (left + width - right) / 2, height - 12,
                        xml_text(chart_.x_label));
    out_ += fmt::format("<text transform=\"translate(16 {:.0f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                        (top + height - bottom) / 2, xml_text(chart_.y_label + (chart_.logarithmic ? ", log scale" : "")));
  }

  /// A line through the points, interrupted at gaps; a point without neighbours is a dot.
  void line(const std::vector<Point>& points, const char* colour, double thickness, double opacity) {
    std::string path;
    std::size_t run = 0;
    for (std::size_t k = 0; k < points.size(); ++k) {
      if (!drawn(chart_, points[k])) {
        run = 0;
        continue;
      }
      const double px = x(points[k].x), py = y(scaled(points[k].y));
      path += fmt::format("{}{:.2f} {:.2f}", run++ ? "L" : "M", px, py);
      if (run == 1 && (k + 1 == points.size() || !drawn(chart_, points[k + 1])))
        out_ += fmt::format("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"3\" fill=\"{}\"/>\n", px, py, colour);
    }
    if (!path.empty())
      out_ += fmt::format(
          "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-opacity=\"{}\" stroke-linejoin=\"round\"/>\n",
          path, colour, thickness, opacity);
  }

  void draw(std::size_t k) {
    const Curve& curve = chart_.curves[k];
    if (!has_points(chart_, curve)) return;
    const char* colour = colours[k % colours.size()];
    const bool smooth = curve.smoothed && curve.points.size() >= least_to_smooth;
    line(curve.points, colour, smooth ? 1 : 2, smooth ? 0.35 : 1);
    if (smooth) line(running_means(curve.points), colour, 2.2, 1);
    if (chart_.curves.size() > 1 || smooth) legend(colour, curve.name + (smooth ? " (bold: running mean)" : ""));
  }

  /// Between title and curves, from right to left.
  void legend(const char* colour, const std::string& name) {
    out_ += fmt::format(
        "<path d=\"M{:.0f} 36h24\" stroke=\"{}\" stroke-width=\"3\"/><text x=\"{:.0f}\" y=\"40\" text-anchor=\"end\">{}</text>\n",
        legend_ - 24, colour, legend_ - 32, xml_text(name));
    legend_ -= 56 + 7.3 * static_cast<double>(name.size());
  }

  const Chart& chart_;
  Interval x_, y_;                 // y_: of what is shown, logarithms where the axis is
  double legend_ = width - right;  // where the next entry ends
  std::string out_;
};

}  // namespace

std::vector<Point> running_means(const std::vector<Point>& points) {
  const std::size_t n = points.size(), most = n / 20;
  std::vector<Point> means;
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t reach = std::min({most, k, n - 1 - k});
    double sum = 0, count = 0;
    for (std::size_t i = k - reach; i <= k + reach; ++i)
      if (std::isfinite(points[i].y)) {
        sum += points[i].y;
        ++count;
      }
    means.push_back({points[k].x, sum / count});
  }
  return means;
}

bool has_points(const Chart& chart) {
  return std::any_of(chart.curves.begin(), chart.curves.end(), [&](const Curve& curve) { return has_points(chart, curve); });
}

std::string line_chart(const Chart& chart) { return Drawing(chart).text(); }

}  // namespace trireme::view
