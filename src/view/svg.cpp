#include "view/svg.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace trireme::view {
namespace {

const std::vector<Style> common = {{".page", "fill:#ffffff", "fill:#0d1117"},
                                   {"text", "fill:#1f2328", "fill:#e6edf3"},
                                   {".grid", "stroke:#dcdfe3", "stroke:#2b323b"},
                                   {".frame", "stroke:#8c959f;fill:none", "stroke:#6e7681;fill:none"}};

std::string rules(const std::vector<Style>& styles, std::string Style::*page) {
  std::string text;
  for (const Style& style : styles) text += fmt::format("{}{{{}}}\n", style.selector, style.*page);
  return text;
}

}  // namespace

/// The JSON library knows.
std::string as_utf8(std::string_view text) {
  using nlohmann::json;
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : as_utf8(text)) switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  return out;
}

std::string svg_head(double width, double height, const std::vector<Style>& styles) {
  std::vector<Style> all = common;
  all.insert(all.end(), styles.begin(), styles.end());
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"DejaVu Sans,Verdana,sans-serif\" font-size=\"12\">\n<style>\n{2}@media (prefers-color-scheme: dark) "
      "{{\n{3}}}\n</style>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n",
      width, height, rules(all, &Style::light), rules(all, &Style::dark));
}

std::string pixels(double number) {
  const long tenths = std::lround(number * 10);
  return tenths % 10 == 0 ? fmt::format("{}", tenths / 10) : fmt::format("{:.1f}", static_cast<double>(tenths) / 10);
}

}  // namespace trireme::view
