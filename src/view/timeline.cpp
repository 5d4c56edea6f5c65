#include "view/timeline.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "view/axis.h"
#include "view/pieces.h"
#include "view/svg.h"

namespace trireme::view {
namespace {

/// Of boxes and the numbers in them; of those of later chunks.
struct Colours {
  const char *box, *number, *later_box, *later_number;
};

struct Look {
  const char* name;
  Colours light, dark;  // on a page that is
};

constexpr const char *white = "#ffffff", *black = "#000000";

/// By Tint. Passes have the colours of the paper's figures.
constexpr std::array<Look, 10> palette = {
    {{"forward", {"#2f5fb3", white, "#a9c4ee", black}, {"#6c9ff0", black, "#29508f", white}},
     {"backward", {"#4aa564", black, "#b5e0bd", black}, {"#57b874", black, "#276a3c", white}},
     {"weight gradient", {"#d6ecae", black, "#edf7dc", black}, {"#c9e39a", black, "#6f8350", white}},
     {"wait for a message", {"#c4c4c4", black, "#c4c4c4", black}, {"#4a525d", white, "#4a525d", white}},
     {"wait for a collective", {"#e69f00", black, "#e69f00", black}, {"#e69f00", black, "#e69f00", black}},
     {"optimizer", {"#7b3f98", white, "#7b3f98", white}, {"#b583d1", black, "#b583d1", black}},
     {"data", {"#8a5a2b", white, "#8a5a2b", white}, {"#bd8a58", black, "#bd8a58", black}},
     {"evaluation", {"#86cfe8", black, "#c8eaf5", black}, {"#86cfe8", black, "#3b7f97", white}},
     {"output", {"#4d4d4d", white, "#4d4d4d", white}, {"#a3adb8", black, "#a3adb8", black}},
     {"checkpoint", {"#d6589a", black, "#d6589a", black}, {"#e077ae", black, "#e077ae", black}}}};

const Look& look(Tint tint) { return palette[static_cast<std::size_t>(tint)]; }

/// "t0" is a box of the first tint, "t0l" one of a later chunk; "n0" and "n0l" are their numbers.
std::string name_of(char prefix, Tint tint, bool later) {
  return fmt::format("{}{}{}", prefix, static_cast<std::size_t>(tint), later ? "l" : "");
}

std::vector<Style> styles() {
  std::vector<Style> all;
  for (std::size_t k = 0; k < palette.size(); ++k) {
    const auto& [name, light, dark] = palette[k];
    const auto add = [&](char prefix, const char* property, bool later, const char* on_light, const char* on_dark) {
      all.push_back({"." + name_of(prefix, static_cast<Tint>(k), later), std::string(property) + on_light,
                     std::string(property) + on_dark});
    };
    add('t', "stroke:", false, light.box, dark.box);
    add('t', "stroke:", true, light.later_box, dark.later_box);
    add('n', "fill:", false, light.number, dark.number);
    add('n', "fill:", true, light.later_number, dark.later_number);
  }
  return all;
}

constexpr double legend_height = 18, swatch = 12, label_width = 7.3, right = 30,
                 least_width = 860;        // pixels; the last of the lanes
constexpr std::size_t most_titled = 2000;  // pieces: a title is longer than a piece
constexpr std::size_t fine_lanes = 64;     // with more of them pieces become coarser, so that the file stays small

/// Pixels of what lies in a lane. Many lanes are low ones.
struct Heights {
  double lane, box, strip, font;
  explicit Heights(std::size_t lanes)
      : lane(std::clamp(std::floor(900.0 / static_cast<double>(std::max<std::size_t>(lanes, 1))), 14.0, 28.0)),
        box(lane > 20 ? lane - 4 : lane - 2),
        strip(std::floor(box / 4)),
        font(lane > 20 ? 11 : 9) {}
  double needed_pixels(int number) const { return 0.64 * font * static_cast<double>(fmt::formatted_size("{}", number)) + 1; }
};

/// Horizontal strokes of a path, each from the end of the one before: few characters.
class Strokes {
 public:
  explicit Strokes(double y) : text_(fmt::format("M0 {}", pixels(y))) {}
  void add(const Piece& piece) {
    const double room = piece.end - piece.begin > 5 ? 0.5 : 0;  // the ground between neighbours
    const long begin = std::lround((piece.begin + room) * 10), end = std::lround((piece.end - room) * 10);
    text_ += fmt::format("m{} 0h{}", tenths(begin - end_), tenths(std::max(end - begin, 4L)));
    end_ = std::max(end, begin + 4);
  }
  const std::string& text() const { return text_; }

 private:
  static std::string tenths(long number) { return pixels(static_cast<double>(number) / 10); }
  std::string text_;
  long end_ = 0;  // in tenths of a pixel
};

class Drawing {
 public:
  explicit Drawing(const Timeline& timeline) : timeline_(timeline), heights_(timeline.lanes.size()) {
    std::size_t longest = 0;
    double last = timeline.window.begin;
    for (const Lane& lane : timeline.lanes) {
      longest = std::max(longest, lane.label.size());
      for (const Box& box : lane.boxes) last = std::max(last, box.end);
    }
    const double end = std::min(timeline.window.end, last);
    grain_.window = {timeline.window.begin, end - timeline.window.begin > 1e-9 ? end : timeline.window.begin + 1};
    left_ = 16 + label_width * static_cast<double>(longest);
    grain_.scale = lanes_width() / length();
    grain_.pixels *= std::max(1.0, static_cast<double>(timeline.lanes.size()) / fine_lanes);
    for (const Lane& lane : timeline.lanes) pieces_.push_back(pieces_of(lane, grain_));
    for (const auto& pieces : pieces_) count_ += pieces.size();
    legend();
    top_ = legend_y_ + 25;
    bottom_ = top_ + heights_.lane * static_cast<double>(timeline.lanes.size());
  }

  std::string text() {
    out_ = svg_head(x(grain_.window.end) + right, bottom_ + 44, styles());
    out_ += fmt::format("<text x=\"8\" y=\"17\" font-size=\"13\">{}</text>\n", xml_text(timeline_.title));
    out_ += legend_;
    axis();
    for (std::size_t k = 0; k < pieces_.size(); ++k) draw_lane(k, top_ + heights_.lane * static_cast<double>(k));
    return out_ + "</svg>\n";
  }

 private:
  double length() const { return grain_.window.end - grain_.window.begin; }
  double x(double time) const { return left_ + (time - grain_.window.begin) * grain_.scale; }

  /// So many pixels that four of five numbers fit into their boxes, as far as the widest drawing allows.
  double lanes_width() const {
    std::vector<double> scales;
    for (const Lane& lane : timeline_.lanes)
      for (const Box& box : lane.boxes)
        if (box.number >= 0 && !box.inside && box.end > box.begin && box.begin < grain_.window.end &&
            box.end > grain_.window.begin)
          scales.push_back((heights_.needed_pixels(box.number) + 2) / (box.end - box.begin));
    std::sort(scales.begin(), scales.end());
    const double wanted = scales.empty() ? 0 : scales[scales.size() * 4 / 5];
    return std::clamp(wanted * length(), least_width, std::max(least_width, widest_drawing - left_ - right));
  }

  /// Whether there is ground in a lane that can be seen: half a pixel.
  bool has_gap(const std::vector<Piece>& pieces) const {
    double covered = 0;
    for (const Piece& piece : pieces)
      if (!piece.box->inside) covered += piece.end - piece.begin;
    return length() * grain_.scale - covered > 0.5;
  }

  /// What occurs, and nothing else.
  void legend() {
    std::array<bool, palette.size()> full{}, later{}, inside{};
    bool idle = false;
    for (const auto& pieces : pieces_) {
      for (const Piece& piece : pieces)
        (piece.box->inside ? inside : piece.box->light ? later : full)[static_cast<std::size_t>(piece.box->tint)] = true;
      idle |= has_gap(pieces);
    }
    for (std::size_t k = 0; k < palette.size(); ++k) {
      const Tint tint = static_cast<Tint>(k);
      const std::string name = look(tint).name;
      if (full[k]) entry(name, sample(tint, false, swatch));
      if (later[k]) entry(name + ", later chunks", sample(tint, true, swatch));
      if (inside[k]) entry(name + " inside a pass or other work", sample(tint, false, swatch / 3));
    }
    if (idle) entry("idle", fmt::format("<rect class=\"frame\" width=\"{0}\" height=\"{0}\"/>", swatch));
  }

  /// Of a tint, so many pixels high, on the line of the words.
  static std::string sample(Tint tint, bool later, double high) {
    return fmt::format("<path class=\"{}\" stroke-width=\"{}\" d=\"M0 {}h{}\"/>", name_of('t', tint, later), high,
                       pixels(swatch - high / 2), swatch);
  }

  /// A shape and its name, on a new line where this one is full.
  void entry(const std::string& name, const std::string& shape) {
    const double wide = 40 + label_width * static_cast<double>(name.size());
    if (legend_x_ > 8 && legend_x_ + wide > left_ + least_width) {
      legend_x_ = 8;
      legend_y_ += legend_height;
    }
    legend_ += fmt::format("<g transform=\"translate({} {})\">{}<text x=\"17\" y=\"10\">{}</text></g>\n", pixels(legend_x_),
                           pixels(legend_y_), shape, name);
    legend_x_ += wide;
  }

  void axis() {
    const std::vector<double> ticks =
        round_ticks(grain_.window.begin, grain_.window.end, static_cast<int>(length() * grain_.scale / 90));
    for (const double tick : ticks)
      out_ +=
          fmt::format("<path class=\"grid\" d=\"M{0} {1}V{2}\"/><text x=\"{0}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>\n",
                      pixels(x(tick)), pixels(top_ - 4), pixels(bottom_ + 4), pixels(bottom_ + 18),
                      tick_label(tick, length() / static_cast<double>(ticks.size())));
    out_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", pixels(x(grain_.window.end)),
                        pixels(bottom_ + 34), xml_text(timeline_.unit));
  }

  void draw_lane(std::size_t lane, double y) {
    out_ += fmt::format("<text x=\"8\" y=\"{}\" font-size=\"{}\">{}</text>\n", pixels(y + heights_.box / 2 + 4),
                        heights_.font + 1, xml_text(timeline_.lanes[lane].label));
    out_ += fmt::format("<g transform=\"translate({} {})\"><rect class=\"frame\" width=\"{}\" height=\"{}\"/>\n", pixels(left_),
                        pixels(y), pixels(length() * grain_.scale), heights_.box);
    draw_boxes(pieces_[lane]);
    draw_numbers(pieces_[lane]);
    out_ += "</g>\n";
  }

  /// Few pieces are paths of their own with a title; of many, a path holds all of one look.
  void draw_boxes(const std::vector<Piece>& pieces) {
    std::map<std::pair<bool, std::string>, Strokes> paths;  // strips last
    for (const Piece& piece : pieces) {
      const Box& box = *piece.box;
      const std::string name = name_of('t', box.tint, box.light);
      const double y = box.inside ? heights_.box - heights_.strip / 2 : heights_.box / 2;
      if (count_ > most_titled || piece.pooled || box.inside) {
        paths.try_emplace({box.inside, name}, y).first->second.add(piece);
        continue;
      }
      Strokes stroke(y);
      stroke.add(piece);
      draw_path(name, false, stroke,
                fmt::format("<title>{}: {:.6g} to {:.6g} {}</title>", xml_text(box.title), box.begin, box.end,
                            xml_text(timeline_.unit)));
    }
    for (const auto& [key, strokes] : paths) draw_path(key.second, key.first, strokes, "");
  }

  void draw_path(const std::string& name, bool strip, const Strokes& strokes, const std::string& title) {
    out_ += fmt::format("<path class=\"{}\" stroke-width=\"{}\" d=\"{}\"{}\n", name, strip ? heights_.strip : heights_.box,
                        strokes.text(), title.empty() ? "/>" : ">" + title + "</path>");
  }

  void draw_numbers(const std::vector<Piece>& pieces) {
    out_ += fmt::format("<g transform=\"translate(0 {})\" font-size=\"{}\" text-anchor=\"middle\">\n",
                        pixels(heights_.box / 2 + 0.36 * heights_.font), heights_.font);
    for (const Piece& piece : pieces) {
      const Box& box = *piece.box;
      if (box.number >= 0 && !box.inside && piece.end - piece.begin >= heights_.needed_pixels(box.number))
        out_ += fmt::format("<text class=\"{}\" x=\"{}\">{}</text>\n", name_of('n', box.tint, box.light),
                            pixels((piece.begin + piece.end) / 2), box.number);
    }
    out_ += "</g>\n";
  }

  const Timeline& timeline_;
  Heights heights_;
  Grain grain_;
  std::vector<std::vector<Piece>> pieces_;  // by lane
  std::size_t count_ = 0;                   // of pieces
  double left_ = 0, top_ = 0, bottom_ = 0;
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
  Timeline result{fmt::format("{}: p = {}, v = {}, m = {}; {:.6g} {}; bubble {} = {:.4f}", name_of(schedule.kind),
                              base::counted(schedule.stages, "stage"), schedule.chunks,
                              base::counted(schedule.microbatches, "microbatch", "es"), timing.seconds, unit,
                              bubble_words(schedule.kind), bubble_formula(schedule)),
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
