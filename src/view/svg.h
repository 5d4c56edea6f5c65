// What all drawings share: their head with its style sheet, text, numbers. A drawing is readable on a light page and on a
// dark one: it has a ground of its own, and colours for both, chosen by the reader's prefers-color-scheme.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trireme::view {

constexpr double widest_drawing = 1600;  // pixels

/// CSS declarations of what `selector` names (".forward", "text"), on a light page and on a dark one.
struct Style {
  std::string selector, light, dark;
};

/// Text with U+FFFD for what is no UTF-8.
std::string as_utf8(std::string_view text);

/// Text as it may stand in XML, also in an attribute. What is no UTF-8 becomes U+FFFD.
std::string xml_text(std::string_view text);

/// <svg ...> of that size in pixels, with its style sheet and its ground; to be closed by </svg>. Besides `styles` there are
/// .page (the ground), text, .grid (thin lines behind) and .frame (lines around).
std::string svg_head(double width, double height, const std::vector<Style>& styles);

/// A number of pixels to a tenth, in as few characters as it takes.
std::string pixels(double number);

}  // namespace trireme::view
