#include "config/problems.h"

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace trireme::config {
namespace {

constexpr std::size_t longest_line = 200;      // of what is quoted from an input
constexpr std::size_t longest_message = 1000;  // of one mistake; values of any length are quoted in it

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }  // not inside a UTF-8 sequence

/// "   14 | text", and below it blanks (tabs kept) and "^~~~ hint".
std::string excerpt(const Location& location, const std::string& hint) {
  const std::string line = base::clipped(location.text, longest_line);
  std::string pad;
  int column = 1, width = 0;
  for (const char c : line) {
    if (!starts_character(c)) continue;
    if (column < location.column) pad += c == '\t' ? '\t' : ' ';
    if (column >= location.column && width < location.length) ++width;
    ++column;
  }
  const std::string number = location.line > 0 ? fmt::format("{:>5}", location.line) : "     ";
  const std::string caret = "^" + std::string(static_cast<std::size_t>(std::max(width - 1, 0)), '~');
  return fmt::format("\n{} | {}\n      | {}{}{}{}", number, line, pad, caret, hint.empty() ? "" : " ", hint);
}

}  // namespace

void Problems::add(const Location& location, const std::string& message, const std::string& hint) {
  std::string text = fmt::format("{}: error: {}", location.origin, base::clipped(message, longest_message));
  if (!location.text.empty())
    text += excerpt(location, hint);
  else if (!hint.empty())
    text += "; " + hint;
  if (seen_.insert(text).second) reports_.push_back({location.line > 0 ? location.line : std::numeric_limits<int>::max(), text});
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
