// What a file is, by its first bytes: the one table of what users take for a text or for weights, and of what to do then.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace trireme::base {

struct FileForm {
  std::string_view bytes;   // that such a file has ...
  std::size_t at;           // ... from this byte on
  const char* what;         // "is compressed by gzip"
  const char* for_text;     // what to do where a plain text is wanted, a sentence without its point; null: it is one
  const char* for_weights;  // the same where weights are wanted
};

/// The row that fits a file of these bytes; null where none does.
const FileForm* form_of(std::span<const std::byte> file);

/// Whether the file begins as a safetensors file does: with the length of a header that fits into it, and a brace. No text does.
bool is_safetensors(std::span<const std::byte> file);

}  // namespace trireme::base
