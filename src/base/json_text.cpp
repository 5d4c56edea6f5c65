#include "base/json_text.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/units.h"

namespace trireme::base {
namespace {

/// Where brackets are nested more than `levels` deep; npos: nowhere. What stands in double quotes does not count; a backslash
/// there hides what follows it.
std::size_t too_deep(std::string_view text, int levels) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    if (quoted && c == '\\')
      ++k;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == '[' || c == '{') && ++depth > levels)
      return k;
    else if (!quoted && (c == ']' || c == '}'))
      --depth;
  }
  return std::string_view::npos;
}

/// "line 3, column 7", both from 1, as the library counts them.
std::string place_of(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  return fmt::format("line {}, column {}", std::count(before.begin(), before.end(), '\n') + 1, at - (before.rfind('\n') + 1) + 1);
}

}  // namespace

template <class Json>
Json json_object(std::string_view text, const std::string& where, Exit status, typename Json::parser_callback_t look) {
  const auto wrong = [&](const std::string& what) { throw Error(status, fmt::format("{}: {}", where, what)); };
  if (text.size() > largest_json)
    wrong(fmt::format("is larger than {}, the most that is read as JSON; is it the right file?", bytes_text(largest_json)));
  if (const std::size_t at = too_deep(text, deepest_json); at != std::string_view::npos)
    wrong(fmt::format("{}: brackets are nested more than {} deep", place_of(text, at), deepest_json));
  Json json;
  try {
    json = Json::parse(text, std::move(look));
  } catch (const typename Json::exception& error) {
    const std::string_view what = error.what();  // "[json.exception...] parse error at line 1, column 2: ..."
    wrong("not JSON, or cut or damaged: " + clipped(what.substr(what.find("] ") + 2)));
  }
  if (!json.is_object()) wrong("not a JSON object");
  return json;
}

template nlohmann::json json_object<nlohmann::json>(std::string_view, const std::string&, Exit,
                                                    nlohmann::json::parser_callback_t);
template nlohmann::ordered_json json_object<nlohmann::ordered_json>(std::string_view, const std::string&, Exit,
                                                                    nlohmann::ordered_json::parser_callback_t);

}  // namespace trireme::base
