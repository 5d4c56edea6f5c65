#include "base/text.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

namespace trireme::base {

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<int>> d(a.size() + 1, std::vector<int>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = static_cast<int>(i);
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::vector<std::string> nearest_words(std::string_view word, const std::vector<std::string>& candidates) {
  int best = std::clamp(static_cast<int>(word.size()) / 2, 1, 3);
  std::vector<std::string> nearest;
  for (const auto& candidate : candidates) {
    const auto longer = std::max(word.size(), candidate.size()), shorter = std::min(word.size(), candidate.size());
    if (longer - shorter > static_cast<std::size_t>(best))
      continue;  // they are at least so far apart; words of any length come here
    const int distance = edit_distance(word, candidate);
    if (distance < best) nearest.clear();
    best = std::min(best, distance);
    if (distance == best) nearest.push_back(candidate);
  }
  return nearest;
}

std::string alternatives(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

std::string counted(std::int64_t count, std::string_view thing, std::string_view plural) {
  return std::to_string(count).append(" ").append(thing).append(count == 1 ? "" : plural);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string clipped(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;  // not inside a character of UTF-8
  return std::string(text.substr(0, bytes)) + " ...";
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  if (trimmed(text).empty()) return pieces;
  for (;;) {
    const auto end = text.find(separator);
    pieces.emplace_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

std::string looked_for(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  return error || absolute == path ? "" : fmt::format(" (it was looked for at {})", absolute.string());
}

std::optional<std::string> unexpanded(std::string_view path) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  if (path.starts_with('~')) return std::string(path.substr(0, path.find('/')));
  for (std::size_t at = path.find('$'); at != std::string_view::npos; at = path.find('$', at + 1)) {
    const std::string_view rest = path.substr(at + 1);
    if (rest.starts_with('{')) return std::string(path.substr(at, path.find('}', at) - at + 1));
    if (const auto end = std::min(rest.find_first_not_of(letters), rest.size()); end > 0)
      return std::string(path.substr(at, end + 1));
  }
  return std::nullopt;
}

}  // namespace trireme::base
