#include "config/toml_scan.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace trireme::config {
namespace {

constexpr std::size_t most_bytes = 1 << 20;
constexpr int most_depth = 16;  // of brackets, and of a dotted name; an input file needs 2

class Scan {
 public:
  explicit Scan(std::string_view text) : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = line_begin_ = 3;  // a byte order mark
  }

  std::optional<SyntaxError> run() {
    if (text_.size() > most_bytes) return error(fmt::format("{} bytes are too many for an input file", text_.size()));
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#')
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (c == '"' || c == '\'')
        skip_string(c);
      else if (auto found = look_at(c))
        return found;
      else
        ++at_;
    }
    return std::nullopt;
  }

 private:
  std::optional<SyntaxError> look_at(char c) {
    if (static_cast<unsigned char>(c) >= 0x80)
      return error(
          "outside of quotes and comments only ASCII characters may stand: plain letters and digits, straight quotes, blanks");
    if (c == '[' || c == '{') ++depth_;
    if (c == ']' || c == '}') --depth_;
    dots_ = c == '.' ? dots_ + 1 : std::string_view("\n,=[]{}").find(c) == std::string_view::npos ? dots_ : 0;
    if (c == '\n') next_line(at_ + 1);
    if (depth_ > most_depth) return error("too many brackets within brackets");
    if (dots_ > most_depth) return error("a name of too many parts");
    return std::nullopt;
  }

  /// A string that does not end is the library's to refuse: it ends with its line here.
  void skip_string(char quote) {
    const std::string three(3, quote);
    const bool lines = text_.substr(at_).starts_with(three);
    at_ += lines ? 3 : 1;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') {
        if (!lines) return;
        next_line(at_ + 1);
      } else if (c == '\\' && quote == '"' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n') {
        ++at_;
      } else if (lines ? text_.substr(at_).starts_with(three) : c == quote) {
        at_ += lines ? 3 : 1;
        for (int more = 0; lines && more < 2 && at_ < text_.size() && text_[at_] == quote; ++more)
          ++at_;  // quotes before the end
        return;
      }
    }
  }

  void next_line(std::size_t begin) {
    ++line_;
    line_begin_ = begin;
  }

  SyntaxError error(const std::string& message) const {
    int column = 1;
    for (std::size_t k = line_begin_; k < at_; ++k) column += (static_cast<unsigned char>(text_[k]) & 0xc0) != 0x80 ? 1 : 0;
    return {message, {.line = line_, .column = column, .length = 1}};
  }

  std::string_view text_;
  std::size_t at_ = 0, line_begin_ = 0;
  int line_ = 1, depth_ = 0, dots_ = 0;
};

}  // namespace

std::optional<SyntaxError> scan_toml(std::string_view text) { return Scan(text).run(); }

}  // namespace trireme::config
