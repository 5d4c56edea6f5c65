// Words in messages: how far apart two are, which are nearest, how to list them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::base {

/// Damerau-Levenshtein distance (optimal string alignment): insertions, deletions, substitutions and swaps of neighbours, in
/// bytes.
int edit_distance(std::string_view a, std::string_view b);

/// All of `candidates` at the smallest distance from `word`, in their order; none when that is above 3 or half the word's length.
std::vector<std::string> nearest_words(std::string_view word, const std::vector<std::string>& candidates);

/// "a, b or c"
std::string alternatives(const std::vector<std::string>& words);

/// "1 document", "3 documents", "0 documents". `plural` is what is appended for more than one.
std::string counted(std::int64_t count, std::string_view thing, std::string_view plural = "s");

std::string_view trimmed(std::string_view text);

/// For messages: the beginning of a text of any length, with " ..." where more follows.
std::string clipped(std::string_view text, std::size_t bytes = 200);

/// The pieces between the separators, trimmed. An empty text has none.
std::vector<std::string> split(std::string_view text, char separator);

/// Of a relative path, to follow the words that it is missing: " (it was looked for at /a/b)". Empty for an absolute one.
std::string looked_for(const std::string& path);

/// What of a path a shell would replace and this program does not: "~" at its start, or "$NAME" anywhere. Nothing: it is a path.
std::optional<std::string> unexpanded(std::string_view path);

}  // namespace trireme::base
