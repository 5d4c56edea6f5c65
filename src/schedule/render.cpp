#include "schedule/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace trireme::schedule {
namespace {

/// The character of a pass in the picture.
char mark(const Action& action) {
  return static_cast<char>(action.act == Act::forward ? '0' + action.microbatch % 10 : 'a' + action.microbatch % 26);
}

double busy_share(const std::vector<Span>& spans, double seconds) {
  double busy = 0;
  for (const Span& span : spans) busy += span.end - span.begin;
  return busy / seconds;
}

struct Colour {
  const char *fill, *text;
};

/// Blue and green as in the paper's figures, dark for the first chunk and light for the others; told apart in grey and by
/// colour-blind eyes too, since their lightness differs.
Colour colour(const Action& action) {
  if (action.act == Act::forward) return action.chunk == 0 ? Colour{"#2f5fb3", "#ffffff"} : Colour{"#a9c4ee", "#000000"};
  return action.chunk == 0 ? Colour{"#5fb36b", "#000000"} : Colour{"#bfe5c4", "#000000"};
}

constexpr double row_height = 26, left = 70, top = 44, most_width = 1600;  // pixels

std::string box(const Action& action, const Span& span, int stage, double scale) {
  const double x = left + span.begin * scale, width = (span.end - span.begin) * scale, y = top + stage * row_height;
  const Colour colours = colour(action);
  const std::string number = fmt::format("{}", action.microbatch);
  std::string text = fmt::format(
      "<rect x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\" fill=\"{}\" stroke=\"#ffffff\" stroke-width=\"{}\">"
      "<title>{} of microbatch {}, chunk {}, stage {}</title></rect>\n",
      x, y, width, row_height - 2, colours.fill, width > 6 ? 1 : 0, action.act == Act::forward ? "forward" : "backward",
      action.microbatch, action.chunk, stage);
  if (width > 7.0 * static_cast<double>(number.size()))  // where the number fits
    text += fmt::format("<text x=\"{:.2f}\" y=\"{:.0f}\" fill=\"{}\" text-anchor=\"middle\">{}</text>\n", x + width / 2, y + 17,
                        colours.text, number);
  return text;
}

std::string legend_entry(double x, const Action& sample, const char* name) {
  return fmt::format(
      "<rect x=\"{0:.0f}\" y=\"{1:.0f}\" width=\"12\" height=\"12\" fill=\"{2}\"/>"
      "<text x=\"{3:.0f}\" y=\"{4:.0f}\">{5}</text>\n",
      x, top - 20, colour(sample).fill, x + 17, top - 10, name);
}

}  // namespace

std::string picture(const Schedule& schedule, const Timing& timing) {
  const auto columns = static_cast<std::size_t>(std::lround(timing.seconds));
  std::string text;
  for (int stage = 0; stage < schedule.stages; ++stage) {
    std::string line(columns, '.');
    for (std::size_t k = 0; k < schedule.actions[stage].size(); ++k) {
      const auto [begin, end] = timing.spans[stage][k];
      for (auto column = std::lround(begin); column < std::lround(end); ++column) line[column] = mark(schedule.actions[stage][k]);
    }
    text += fmt::format("stage {:<{}}|{}| busy {:.1f}%\n", stage, fmt::formatted_size("{}", schedule.stages - 1) + 1, line,
                        100 * busy_share(timing.spans[stage], timing.seconds));
  }
  return text;
}

std::string listing(const Schedule& schedule) {
  std::string text;
  for (int stage = 0; stage < schedule.stages; ++stage) {
    text += fmt::format("stage {}:", stage);
    for (const Action& action : schedule.actions[stage]) {
      if (action.act == Act::optimizer_step) {
        text += " step";
        continue;
      }
      text += fmt::format(" {}{}", action.act == Act::forward ? 'F' : 'B', action.microbatch);
      if (schedule.chunks > 1) text += fmt::format(".{}", action.chunk);
    }
    text += '\n';
  }
  return text;
}

std::string svg(const Schedule& schedule, const Timing& timing) {
  const double shortest_pass = (timing.spans[0][0].end - timing.spans[0][0].begin);
  const double scale = std::min(24 / shortest_pass, (most_width - left - 10) / timing.seconds);  // pixels a second
  const double width = std::max(left + timing.seconds * scale + 10, 420.0), height = top + schedule.stages * row_height + 10;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
      "<text x=\"10\" y=\"16\">{2}: p = {3} stages, v = {4}, m = {5} microbatches</text>\n",
      width, height, name_of(schedule.kind), schedule.stages, schedule.chunks, schedule.microbatches);
  text += legend_entry(left, {Act::forward}, "forward") + legend_entry(left + 90, {Act::backward}, "backward");
  for (int stage = 0; stage < schedule.stages; ++stage) {
    const double y = top + stage * row_height;
    text += fmt::format("<text x=\"10\" y=\"{:.0f}\">stage {}</text>\n", y + 17, stage);
    text += fmt::format("<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\" fill=\"none\" stroke=\"#cccccc\"/>\n",
                        left, y, timing.seconds * scale, row_height - 2);
    for (std::size_t k = 0; k < schedule.actions[stage].size(); ++k)
      if (schedule.actions[stage][k].act != Act::optimizer_step)
        text += box(schedule.actions[stage][k], timing.spans[stage][k], stage, scale);
  }
  return text + "</svg>\n";
}

}  // namespace trireme::schedule
