#include "view/line_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "view/axis.h"
#include "view/svg.h"

namespace trireme::view {
namespace {

constexpr double width = 860, plot_height = 320, left = 78, right = 20, digit_width = 7.3, bottom = 50,
                 line_height = 17;     // pixels
constexpr std::size_t most_dots = 60;  // of a dashed curve

struct Colour {
  const char *light, *dark;  // on a page that is
};
/// Blue and orange first: told apart by all eyes.
constexpr std::array<Colour, 8> colours = {{{"#2f5fb3", "#6c9ff0"},
                                            {"#d55e00", "#f0883e"},
                                            {"#2e8b4f", "#57b874"},
                                            {"#7b3f98", "#b583d1"},
                                            {"#8a5a2b", "#bd8a58"},
                                            {"#c2397f", "#e077ae"},
                                            {"#0f8a8a", "#3cc0c0"},
                                            {"#6e7681", "#a3adb8"}}};

/// "c0" is a line of the first colour, "d0" a dot.
std::vector<Style> styles() {
  std::vector<Style> all = {{".level", "stroke:#57606a", "stroke:#9198a1"}};
  for (std::size_t k = 0; k < colours.size(); ++k) {
    const auto& [light, dark] = colours[k];
    all.push_back({fmt::format(".c{}", k), fmt::format("stroke:{};fill:none", light), fmt::format("stroke:{};fill:none", dark)});
    all.push_back({fmt::format(".d{}", k), fmt::format("fill:{}", light), fmt::format("fill:{}", dark)});
  }
  return all;
}

Axis y_axis(const Chart& chart) { return Axis(chart.logarithmic ? Axis::Scale::logarithmic : Axis::Scale::linear); }

bool drawn(const Axis& y, const Point& point) { return std::isfinite(point.x) && y.holds(point.y); }

bool has_points(const Axis& y, const Curve& curve) {
  return std::any_of(curve.points.begin(), curve.points.end(), [&](const Point& point) { return drawn(y, point); });
}

/// How a line looks.
struct Pen {
  double thickness, opacity;
  bool dashed;
  std::size_t dots;  // points are dots too, if there are at most so many; one without neighbours is a dot, unless this is 0
};

class Drawing {
 public:
  explicit Drawing(const Chart& chart) : chart_(chart), y_(y_axis(chart)) {
    for (const Curve& curve : chart.curves) {
      for (const Point& point : curve.points)
        if (drawn(y_, point)) {
          x_.add(point.x);
          y_.add(point.y);
        }
      means_.push_back(curve.smoothed ? running_means(curve.points) : std::vector<Point>());
    }
    if (!view::has_points(chart)) base::refuse("{}: there is nothing to draw", chart.title);
    for (const Level& level : chart.levels)
      if (y_.holds(level.y)) y_.add(level.y);
    if (chart.from_zero) y_.add(0);
    x_.settle(0, 0);
    y_.settle(chart.from_zero ? 0 : 0.04, 0.04);
    legend();
    top_ = legend_y_ + 12;
  }

  std::string text() {
    out_ = svg_head(width, base() + bottom, styles());
    out_ += fmt::format("<text x=\"{}\" y=\"20\" font-size=\"14\">{}</text>\n", left, xml_text(chart_.title));
    out_ += legend_;
    axes();
    for (const Level& level : chart_.levels)
      if (y_.holds(level.y)) draw(level);
    for (std::size_t k = 0; k < chart_.curves.size(); ++k) draw(chart_.curves[k], means_[k]);
    return out_ + "</svg>\n";
  }

 private:
  double base() const { return top_ + plot_height; }
  double x(double share) const { return left + share * (width - left - right); }
  double y(double share) const { return base() - share * plot_height; }
  Point place(const Point& point) const { return {x(x_.share(point.x)), y(y_.share(point.y))}; }

  void axes() {
    for (const Tick& tick : y_.ticks(6))
      out_ += fmt::format("<path class=\"grid\" d=\"M{} {}H{}\"/><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", left,
                          pixels(y(tick.share)), width - right, left - 6, pixels(y(tick.share) + 4), tick.label);
    for (const Tick& tick : x_.ticks(8, 1)) {
      const std::string label = fmt::format("{:.15g}", tick.value);
      const double inside = width - 4 - digit_width / 2 * static_cast<double>(label.size());  // the last one stays in the picture
      out_ += fmt::format("<path class=\"grid\" d=\"M{} {}V{}\"/><text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                          pixels(x(tick.share)), pixels(top_), pixels(base()), pixels(std::min(x(tick.share), inside)),
                          pixels(base() + 18), label);
    }
    out_ += fmt::format("<path class=\"frame\" d=\"M{} {}V{}H{}\"/>\n", left, pixels(top_), pixels(base()), width - right);
    out_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", pixels((left + width - right) / 2),
                        pixels(base() + 38), xml_text(chart_.x_label));
    out_ += fmt::format("<text transform=\"translate(16 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                        pixels(top_ + plot_height / 2), xml_text(chart_.y_label + (chart_.logarithmic ? ", log scale" : "")));
  }

  void draw(const Level& level) {
    const double at = y(y_.share(level.y));
    out_ +=
        fmt::format("<path class=\"level\" stroke-dasharray=\"7 4\" d=\"M{} {}H{}\"/><text x=\"{}\" y=\"{}\">{}: {:.4f}</text>\n",
                    left, pixels(at), width - right, left + 8, pixels(at - 5), xml_text(level.name), level.y);
  }

  void draw(const Curve& curve, const std::vector<Point>& means) {
    if (!has_points(y_, curve)) return;
    line(curve.points, curve.colour, {1.5, means.empty() ? 1 : 0.55, curve.dashed, curve.dashed ? most_dots : 1});
    line(means, curve.colour, {1.5, 1, false, 0});
  }

  /// A line through the points, interrupted at gaps.
  void line(const std::vector<Point>& points, std::size_t colour, const Pen& pen) {
    const std::size_t k = colour % colours.size();
    std::string path, dots;
    for (auto begin = points.begin(); begin != points.end();) {
      const auto is_drawn = [&](const Point& point) { return drawn(y_, point); };
      begin = std::find_if(begin, points.end(), is_drawn);
      const auto end = std::find_if_not(begin, points.end(), is_drawn);
      std::vector<Point> places;
      for (; begin != end; ++begin) places.push_back(place(*begin));
      if (pen.dots > 0 && (places.size() == 1 || points.size() <= pen.dots))
        for (const Point& at : places)
          dots += fmt::format("<circle class=\"d{}\" cx=\"{}\" cy=\"{}\" r=\"2.5\"/>\n", k, pixels(at.x), pixels(at.y));
      const char* command = "M";
      for (const Point& at : thinned(places))
        path += fmt::format("{}{} {}", std::exchange(command, "L"), pixels(at.x), pixels(at.y));
    }
    if (!path.empty())
      out_ +=
          fmt::format("<path class=\"c{}\" d=\"{}\" stroke-width=\"{}\" stroke-opacity=\"{}\" stroke-linejoin=\"round\"{}/>\n", k,
                      path, pen.thickness, pen.opacity, pen.dashed ? " stroke-dasharray=\"4 3\"" : "");
    out_ += dots;
  }

  /// Under the title, as many lines as it takes: of several curves, and where there are means.
  void legend() {
    const bool several = chart_.curves.size() > 1;
    for (std::size_t k = 0; k < chart_.curves.size(); ++k) {
      const Curve& curve = chart_.curves[k];
      if ((several || !means_[k].empty()) && has_points(y_, curve))
        entry(curve, curve.name + (means_[k].empty() ? "" : " (strong: running mean)"));
    }
  }

  void entry(const Curve& curve, const std::string& name) {
    const double wide = 56 + digit_width * static_cast<double>(name.size());
    if (legend_x_ == left) legend_y_ += line_height;
    if (legend_x_ > left && legend_x_ + wide > width) {
      legend_x_ = left;
      legend_y_ += line_height;
    }
    legend_ +=
        fmt::format("<path class=\"c{}\" d=\"M{} {}h24\" stroke-width=\"3\"{}/><text x=\"{}\" y=\"{}\">{}</text>\n",
                    curve.colour % colours.size(), pixels(legend_x_), pixels(legend_y_ - 4),
                    curve.dashed ? " stroke-dasharray=\"4 3\"" : "", pixels(legend_x_ + 32), pixels(legend_y_), xml_text(name));
    legend_x_ += wide;
  }

  const Chart& chart_;
  Axis x_{Axis::Scale::linear}, y_;
  std::vector<std::vector<Point>> means_;   // by curve
  double legend_x_ = left, legend_y_ = 22;  // where the next entry goes
  double top_ = 0;
  std::string out_, legend_;
};

}  // namespace

bool has_points(const Chart& chart) {
  return std::any_of(chart.curves.begin(), chart.curves.end(),
                     [&](const Curve& curve) { return has_points(y_axis(chart), curve); });
}

std::string line_chart(const Chart& chart) { return Drawing(chart).text(); }

}  // namespace trireme::view
