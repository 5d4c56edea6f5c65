#include "config/problems.h"

#include <algorithm>
#include <limits>

namespace trireme::config {
namespace {

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }  // not inside a UTF-8 sequence

/// "   14 | text", and below it blanks (tabs kept) and "^~~~ hint".
std::string excerpt(const Place& place, const std::string& hint) {
  std::string pad;
  int column = 1, width = 0;
  for (const char c : place.text) {
    if (!starts_character(c)) continue;
    if (column < place.column) pad += c == '\t' ? '\t' : ' ';
    if (column >= place.column && width < place.length) ++width;
    ++column;
  }
  const std::string number = place.line > 0 ? fmt::format("{:>5}", place.line) : "     ";
  const std::string caret = "^" + std::string(static_cast<std::size_t>(std::max(width - 1, 0)), '~');
  return fmt::format("\n{} | {}\n      | {}{}{}{}", number, place.text, pad, caret, hint.empty() ? "" : " ", hint);
}

}  // namespace

void Problems::add(const Place& place, const std::string& message, const std::string& hint) {
  std::string text = fmt::format("{}: error: {}", place.origin, message);
  if (!place.text.empty())
    text += excerpt(place, hint);
  else if (!hint.empty())
    text += "; " + hint;
  if (seen_.insert(text).second) reports_.push_back({place.line > 0 ? place.line : std::numeric_limits<int>::max(), text});
}

void Problems::throw_if_any() const {
  if (reports_.empty()) return;
  auto sorted = reports_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Report& a, const Report& b) { return a.line < b.line; });
  std::string all;
  for (const auto& report : sorted) all += report.text + "\n";
  const std::size_t n = sorted.size();
  throw base::Error(base::Exit::bad_input, fmt::format("{}{} error{}, nothing was run", all, n, n == 1 ? "" : "s"));
}

}  // namespace trireme::config
