// JSON from outside: every reader of a file that holds some parses it here, so that the same limits hold for all.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/error.h"

namespace trireme::base {

inline constexpr std::size_t largest_json = std::size_t{1} << 28;  // bytes; once parsed it takes a multiple of that
/// Of brackets within brackets. The library calls itself once a level, and would use up the stack.
inline constexpr int deepest_json = 100;

/// The object that `text` holds. An Error of `status` begins with `where`, the file and which part of it, and says what is wrong:
/// too large, nested too deep or no JSON (both with line and column), or not an object. `Json` is nlohmann::json or ordered_json;
/// `look`, if any, sees each event of the parser, and what it throws passes.
template <class Json>
Json json_object(std::string_view text, const std::string& where, Exit status = Exit::bad_input,
                 typename Json::parser_callback_t look = nullptr);

}  // namespace trireme::base
