// What all drawings share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trireme::view {

/// Text as it may stand in XML, also in an attribute.
std::string xml_text(std::string_view text);

/// <svg ...> of that size in pixels, on white; to be closed by </svg>.
std::string svg_head(double width, double height);

/// Round numbers (1, 2 or 5 times a power of ten apart, no closer than `closest`) from `low` to `high`, both inside,
/// about `wanted` of them.
std::vector<double> round_ticks(double low, double high, int wanted, double closest = 0);

}  // namespace trireme::view
