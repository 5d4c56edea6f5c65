#include "view/timeline.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "view/svg.h"

namespace trireme::view {
namespace {

struct Colours {
  const char *name, *fill, *text, *light;
};

/// By Tint. Passes have the colours of the paper's figures; light: of later chunks.
constexpr std::array<Colours, 10> palette = {{{"forward", "#2f5fb3", "#ffffff", "#a9c4ee"},
                                              {"backward", "#4aa564", "#000000", "#b5e0bd"},
                                              {"weight gradient", "#d6ecae", "#000000", "#edf7dc"},
                                              {"wait for a message", "#c4c4c4", "#000000", "#c4c4c4"},
                                              {"wait for a collective", "#e69f00", "#000000", "#e69f00"},
                                              {"optimizer", "#7b3f98", "#ffffff", "#7b3f98"},
                                              {"data", "#8a5a2b", "#ffffff", "#8a5a2b"},
                                              {"evaluation", "#86cfe8", "#000000", "#c8eaf5"},
                                              {"output", "#4d4d4d", "#ffffff", "#4d4d4d"},
                                              {"checkpoint", "#d6589a", "#000000", "#d6589a"}}};
const Colours& colours(Tint tint) { return palette[static_cast<std::size_t>(tint)]; }

constexpr double lane_height = 28, box_height = 24, strip_height = 6, legend_height = 18, box_size = 12, digit_width = 7,
                 label_width = 7.3;                     // pixels
constexpr double least_width = 860, most_width = 9000;  // of the lanes

double needed_pixels(int number) { return digit_width * static_cast<double>(fmt::formatted_size("{}", number)) + 3; }

/// Pixels a unit of time: four of five numbers fit into their boxes, as far as the widest drawing allows.
double scale_for(const Timeline& timeline, double length) {
  std::vector<double> scales;
  for (const Lane& lane : timeline.lanes)
    for (const Box& box : lane.boxes)
      if (box.number >= 0 && !box.inside && box.end > box.begin)
        scales.push_back(needed_pixels(box.number) / (box.end - box.begin));
  std::sort(scales.begin(), scales.end());
  const double wanted = scales.empty() ? 0 : scales[scales.size() * 4 / 5];
  return std::clamp(wanted * length, least_width, most_width) / length;
}

class Drawing {
 public:
  explicit Drawing(const Timeline& timeline) : timeline_(timeline) {
    std::size_t longest = 0;
    for (const Lane& lane : timeline.lanes) {
      longest = std::max(longest, lane.label.size());
      for (const Box& box : lane.boxes) length_ = std::max(length_, box.end);
    }
    if (length_ <= 0) length_ = 1;
    scale_ = scale_for(timeline, length_);
    left_ = 16 + label_width * static_cast<double>(longest);
    legend();
    top_ = legend_y_ + 25;
    bottom_ = top_ + lane_height * static_cast<double>(timeline.lanes.size());
  }

  std::string text() {
    out_ = svg_head(x(length_) + right(), bottom_ + 34);
    out_ += fmt::format("<text x=\"8\" y=\"17\" font-size=\"13\">{}</text>\n", xml_text(timeline_.title));
    out_ += legend_;
    axis();
    for (std::size_t k = 0; k < timeline_.lanes.size(); ++k)
      draw_lane(timeline_.lanes[k], top_ + lane_height * static_cast<double>(k));
    return out_ + "</svg>\n";
  }

 private:
  double x(double time) const { return left_ + time * scale_; }
  bool wide() const { return length_ * scale_ > 1600; }
  double right() const {
    return std::max(30 + label_width * static_cast<double>(timeline_.unit.size()), wide() ? left_ + 10 : 0);
  }

  /// Whether there is white in a lane that can be seen: half a pixel.
  bool has_gap(const Lane& lane) const {
    double covered = 0;
    for (const Box& box : lane.boxes)
      if (!box.inside) covered += box.end - box.begin;
    return (length_ - covered) * scale_ > 0.5;
  }

  /// What occurs, and nothing else.
  void legend() {
    std::array<bool, palette.size()> full{}, light{}, inside{};
    bool idle = false;
    for (const Lane& lane : timeline_.lanes) {
      for (const Box& box : lane.boxes)
        (box.inside ? inside : box.light ? light : full)[static_cast<std::size_t>(box.tint)] = true;
      idle |= has_gap(lane);
    }
    for (std::size_t k = 0; k < palette.size(); ++k) {
      if (full[k]) entry(palette[k].name, palette[k].fill, box_size);
      if (light[k]) entry(fmt::format("{}, later chunks", palette[k].name), palette[k].light, box_size);
      if (inside[k]) entry(fmt::format("{} inside a pass or other work", palette[k].name), palette[k].fill, box_size / 3);
    }
    if (idle) entry("idle", "#ffffff\" stroke=\"#999999", box_size);
  }

  /// A swatch that high and its name, on a new line where this one is full.
  void entry(const std::string& name, const char* fill, double high) {
    const double wide = 40 + label_width * static_cast<double>(name.size());
    if (legend_x_ > 8 && legend_x_ + wide > left_ + least_width) {
      legend_x_ = 8;
      legend_y_ += legend_height;
    }
    legend_ += fmt::format(
        "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" fill=\"{}\"/><text x=\"{:.0f}\" "
        "y=\"{:.0f}\">{}</text>\n",
        legend_x_, legend_y_ + box_size - high, box_size, high, fill, legend_x_ + 17, legend_y_ + 10, name);
    legend_x_ += wide;
  }

  void axis() {
    const int wanted = static_cast<int>(length_ * scale_ / 90);
    for (const double tick : round_ticks(0, length_, wanted))
      out_ += fmt::format(
          "<path d=\"M{0:.2f} {1:.0f}V{2:.0f}\" stroke=\"#d9d9d9\"/><text x=\"{0:.2f}\" y=\"{3:.0f}\" "
          "text-anchor=\"middle\">{4:.6g}</text>\n",
          x(tick), top_ - 4, bottom_ + 4, bottom_ + 18, tick);
    out_ += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n", x(length_) + 10, bottom_ + 18, xml_text(timeline_.unit));
  }

  void draw_lane(const Lane& lane, double y) {
    for (const double place : {8.0, x(length_) + 10})
      if (place == 8 || wide())  // the label would be out of sight
        out_ += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n", place, y + 16, xml_text(lane.label));
    out_ += fmt::format("<rect x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\" fill=\"none\" stroke=\"#cccccc\"/>\n",
                        left_, y, length_ * scale_, box_height);
    std::map<Tint, std::string> strips;
    for (const Box& box : lane.boxes) {
      if (box.inside)
        strips[box.tint] += fmt::format("M{:.2f} {:.0f}h{:.2f}v{:.0f}h-{:.2f}z", x(box.begin), y + box_height - strip_height,
                                        width(box), strip_height, width(box));
      else
        draw(box, y);
    }
    for (const auto& [tint, path] : strips) out_ += fmt::format("<path d=\"{}\" fill=\"{}\"/>\n", path, colours(tint).fill);
  }

  double width(const Box& box) const { return std::max((box.end - box.begin) * scale_, 0.4); }

  void draw(const Box& box, double y) {
    const Colours& c = colours(box.tint);
    out_ += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\" fill=\"{}\"{}><title>{}: {:.6g} to {:.6g} "
        "{}</title></rect>\n",
        x(box.begin), y, width(box), box_height, box.light ? c.light : c.fill, width(box) > 5 ? " stroke=\"#ffffff\"" : "",
        xml_text(box.title), box.begin, box.end, xml_text(timeline_.unit));
    if (box.number >= 0 && width(box) >= needed_pixels(box.number) - 2)
      out_ += fmt::format("<text x=\"{:.2f}\" y=\"{:.0f}\" font-size=\"11\" fill=\"{}\" text-anchor=\"middle\">{}</text>\n",
                          x((box.begin + box.end) / 2), y + 15, box.light ? "#000000" : c.text, box.number);
  }

  const Timeline& timeline_;
  double length_ = 0, scale_ = 1, left_ = 0, top_ = 0, bottom_ = 0;
  double legend_x_ = 8, legend_y_ = 27;  // where the next entry goes
  std::string out_, legend_;
};

}  // namespace

std::string svg(const Timeline& timeline) { return Drawing(timeline).text(); }

Tint tint_of(schedule::Act act) {
  switch (act) {
    case schedule::Act::forward:
      return Tint::forward;
    case schedule::Act::backward:
      return Tint::backward;
    case schedule::Act::optimizer_step:
      return Tint::optimizer;
  }
  return Tint::output;
}

Timeline timeline(const schedule::Schedule& schedule, const schedule::Timing& timing, const std::string& unit) {
  Timeline result{
      fmt::format("{}: p = {} stages, v = {}, m = {} microbatches; bubble {} = {:.4f}", name_of(schedule.kind), schedule.stages,
                  schedule.chunks, schedule.microbatches, bubble_words(schedule.kind), bubble_formula(schedule)),
      unit,
      {}};
  for (int stage = 0; stage < schedule.stages; ++stage) {
    Lane lane{fmt::format("stage {}", stage), {}};
    for (std::size_t k = 0; k < schedule.actions[stage].size(); ++k) {
      const schedule::Action& action = schedule.actions[stage][k];
      const schedule::ActFacts& act = facts(action.act);
      if (!act.is_pass) continue;
      const auto [begin, end] = timing.spans[stage][k];
      lane.boxes.push_back({begin, end, tint_of(action.act), action.chunk > 0, false, action.microbatch,
                            fmt::format("{} of microbatch {}, chunk {}", act.word, action.microbatch, action.chunk)});
    }
    result.lanes.push_back(std::move(lane));
  }
  return result;
}

}  // namespace trireme::view
