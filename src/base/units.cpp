#include "base/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace trireme::base {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Without underscores; each must stand between two digits.
std::string without_underscores(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      plain += text[i];
    } else if (i == 0 || i + 1 == text.size() || !is_digit(text[i - 1]) || !is_digit(text[i + 1])) {
      refuse("'{}' is not a number", text);
    }
  }
  return plain;
}

std::string take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  std::string digits(text.begin(), end);
  text.remove_prefix(digits.size());
  return digits;
}

bool take(std::string_view& text, std::string_view characters) {
  const bool found = !text.empty() && characters.find(text.front()) != std::string_view::npos;
  if (found) text.remove_prefix(1);
  return found;
}

/// digits * 10^shift as the digits of a whole number.
std::string shifted(std::string digits, std::int64_t shift, std::string_view text) {
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) return "0";
  for (; shift < 0; ++shift) {
    if (digits.back() != '0') refuse("'{}' is not a whole number", text);
    digits.pop_back();
  }
  if (shift > 19) refuse("'{}' does not fit into 64 bits", text);
  return digits + std::string(static_cast<std::size_t>(shift), '0');
}

/// "HH:MM:SS" in seconds, hours below `hours`; also "MM:SS" where `short_form`.
double clock_seconds(std::string_view clock, double hours, bool short_form) {
  const auto pieces = split(clock, ':');
  if (pieces.size() != 3 && !(short_form && pieces.size() == 2)) refuse("not a clock time");
  double seconds = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto piece = static_cast<double>(parse_count(pieces[i]));
    if (piece < 0 || piece >= (i == 0 && pieces.size() == 3 ? hours : 60)) refuse("out of range");
    seconds = seconds * 60 + piece;
  }
  return seconds;
}

double seconds_of(std::string_view text) {
  // What squeue prints where there is no end to wait for: none set, not yet set, passed already.
  for (const std::string_view endless : {"UNLIMITED", "NOT_SET", "INVALID"})
    if (text == endless) return 0;
  const auto dash = text.find('-', 1), colon = text.find(':');
  if (dash != std::string_view::npos &&
      text.find_first_of("eE") == std::string_view::npos) {  // days-hours, days-hours:minutes, days-hours:minutes:seconds
    const auto days = static_cast<double>(parse_count(text.substr(0, dash)));
    if (days < 0) refuse("out of range");
    std::string clock(text.substr(dash + 1));
    for (auto colons = std::count(clock.begin(), clock.end(), ':'); colons < 2; ++colons) clock += ":00";
    return 86400 * days + clock_seconds(clock, 24, false);
  }
  if (colon != std::string_view::npos) return clock_seconds(text, 1e6, true);
  constexpr std::pair<char, double> units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
  for (const auto& [letter, seconds] : units) {
    if (text.ends_with(letter)) return seconds * parse_real(text.substr(0, text.size() - 1));
  }
  return parse_real(text);
}

}  // namespace

std::int64_t parse_count(std::string_view text) {
  const std::string plain = without_underscores(trimmed(text));
  std::string_view rest = plain;
  const bool negative = rest.starts_with('-');
  take(rest, "+-");
  std::string digits = take_digits(rest);
  std::int64_t shift = 0;
  const bool whole_part = !digits.empty();
  if (whole_part && take(rest, ".")) {
    const std::string fraction = take_digits(rest);
    if (fraction.empty()) refuse("'{}' is not a number", text);
    digits += fraction;
    shift = -static_cast<std::int64_t>(fraction.size());
  }
  if (whole_part && take(rest, "eE")) {
    const bool down = rest.starts_with('-');
    take(rest, "+-");
    const std::string exponent = take_digits(rest);
    if (exponent.empty() || exponent.size() > 3) refuse("'{}' is not a number that fits into 64 bits", text);
    shift += (down ? -1 : 1) * std::stoi(exponent);
  }
  if (!whole_part || !rest.empty()) refuse("'{}' is not a whole number; write digits, such as 20, 1_000_000 or 1e6", text);
  const std::string whole = (negative ? "-" : "") + shifted(digits, shift, text);
  std::int64_t value = 0;
  if (std::from_chars(whole.data(), whole.data() + whole.size(), value).ec != std::errc()) {
    refuse("'{}' does not fit into 64 bits", text);
  }
  return value;
}

double parse_real(std::string_view text) {
  const std::string plain = without_underscores(trimmed(text));
  const char* const end = plain.data() + plain.size();
  double value = 0;
  const bool plus = plain.starts_with('+') && !plain.starts_with("+-");  // from_chars takes no plus
  const auto [stop, status] = std::from_chars(plain.data() + (plus ? 1 : 0), end, value);
  if (status == std::errc::result_out_of_range) refuse("'{}' does not fit into a double", text);
  if (status != std::errc() || stop != end) refuse("'{}' is not a number", text);
  if (!std::isfinite(value)) refuse("'{}' is not a finite number", text);
  return value;
}

double parse_duration(std::string_view text) {
  try {
    return seconds_of(trimmed(text));
  } catch (const Error&) {
    refuse("'{}' is not a time; write 90s, 30m, 4h, 30:00, 04:00:00 or 1-12:00:00", text);
  }
}

std::string real_text(double value) { return fmt::format("{}", value); }

std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 5> units = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (std::abs(bytes) < 1023.5) return fmt::format("{:.0f} B", bytes);
  std::size_t unit = 0;
  for (bytes /= 1024; std::abs(bytes) >= 1023.95 && unit + 1 < units.size(); ++unit) bytes /= 1024;
  return fmt::format("{:.1f} {}", bytes, units[unit]);
}

std::string time_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(std::abs(seconds)));
  return fmt::format("{}{}:{:02}:{:02}", seconds < 0 && whole > 0 ? "-" : "", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string rate_text(double value) {
  constexpr std::array<const char*, 8> prefixes = {"", "k", "M", "G", "T", "P", "E", "Z"};
  std::size_t prefix = 0;
  for (; std::abs(value) >= 999.5 && prefix + 1 < prefixes.size(); ++prefix) value /= 1000;
  const double size = std::abs(value);
  return fmt::format("{:.{}f} {}", value, size < 9.995 ? 2 : size < 99.95 ? 1 : 0, prefixes[prefix]);
}

}  // namespace trireme::base
