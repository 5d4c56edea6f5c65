#include "config/toml_file.h"

// The library asserts what the text decides ("[=]" would abort the program) and then checks it properly; with NDEBUG the
// compiler may even assume it. So its assertions do nothing here.
#undef NDEBUG
#define TOML_ASSERT(expression) static_cast<void>(0)
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/text.h"
#include "config/toml_scan.h"

namespace trireme::config {
namespace {

Span span_of(const toml::source_region& region) {
  const auto line = static_cast<int>(region.begin.line), column = static_cast<int>(region.begin.column);
  const bool one_line = region.end.line == region.begin.line;
  const int length = one_line ? static_cast<int>(region.end.column) - column : std::numeric_limits<int>::max();
  return {line, column, std::max(length, 1)};
}

/// Whole numbers, also written as 1e3.
Value list_of(const toml::array& array) {
  constexpr double exact = 0x1p53;  // beyond it a double no longer names one whole number
  std::vector<std::int64_t> list;
  for (const auto& element : array) {
    const auto* integer = element.as_integer();
    const auto* real = element.as_floating_point();
    if (!integer && !(real && std::abs(real->get()) <= exact && real->get() == std::floor(real->get())))
      return OtherType{"a list with something else"};
    list.push_back(integer ? integer->get() : static_cast<std::int64_t>(real->get()));
  }
  return list;
}

Value value_of(const toml::node& node) {
  if (const auto* boolean = node.as_boolean()) return boolean->get();
  if (const auto* integer = node.as_integer()) return integer->get();
  if (const auto* real = node.as_floating_point()) return real->get();
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* array = node.as_array()) return list_of(*array);
  return OtherType{node.is_table() ? "a table" : "a date or a time"};
}

Entry entry_of(const toml::key& key, const toml::node& node) {
  return {std::string(key.str()), value_of(node), span_of(key.source()), span_of(node.source())};
}

/// For a value without quotes or brackets that the library could not read: it has no word on quotes. Empty for other mistakes.
std::string hint_for(std::string_view text, const Span& span) {
  for (int line = 1; line < span.line; ++line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  text = text.substr(0, text.find('\n'));
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || span.column < static_cast<int>(equals) + 2) return "";
  const std::string_view value = base::trimmed(text.substr(equals + 1, text.find('#') - equals - 1));
  const bool number = value.find_first_not_of("0123456789_.", 1) == std::string_view::npos;
  if (value.empty() || number || value.find_first_of("\"'[]{}=") != std::string_view::npos) return "";
  return fmt::format("is it a text? Then it needs quotes: \"{}\"", base::clipped(value, 60));
}

}  // namespace

TomlFile parse_toml(const std::string& text) {
  TomlFile file;
  file.error = scan_toml(text);
  if (file.error) return file;
  try {
    const toml::table root = toml::parse(text);
    Section top;
    for (const auto& [key, node] : root) {
      const auto* table = node.as_table();
      if (!table) {
        top.entries.push_back(entry_of(key, node));
        continue;
      }
      Section section{std::string(key.str()), span_of(key.source()), {}};
      for (const auto& [name, value] : *table) section.entries.push_back(entry_of(name, value));
      file.sections.push_back(std::move(section));
    }
    if (!top.entries.empty()) file.sections.push_back(std::move(top));
  } catch (const toml::parse_error& error) {
    const Span span = span_of(error.source());
    file.error = SyntaxError{std::string(error.description()), span, hint_for(text, span)};
  }
  return file;
}

}  // namespace trireme::config
