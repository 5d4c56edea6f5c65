#include "view/svg.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace trireme::view {

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
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

std::string svg_head(double width, double height) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"DejaVu Sans,Verdana,sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"#ffffff\"/>\n",
      width, height);
}

std::vector<double> round_ticks(double low, double high, int wanted, double closest) {
  if (!(high > low)) return {low};
  const double rough = (high - low) / std::max(wanted, 1), power = std::pow(10, std::floor(std::log10(rough)));
  const double digit = rough / power;
  const double step = std::max(closest, power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10));
  std::vector<double> ticks;
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k) ticks.push_back(k * step + 0.0);  // no -0
  return ticks;
}

}  // namespace trireme::view
