#include "data/text_file.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <span>

#include "base/error.h"
#include "base/file_form.h"

namespace trireme::data {
namespace {

constexpr std::size_t looked_at = 65536;  // bytes; where binary files have a zero byte, they have one soon

std::string ending_of(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending;
}

void refuse_json(const std::string& path) {
  const std::string ending = ending_of(path);
  if (ending == ".jsonl" || ending == ".ndjson" || ending == ".json")
    base::refuse(
        "{0}: is JSON by its name. prepare makes a token of each byte, brackets and keys too. Extract the text first, for "
        "example: jq -r .text '{0}' > text.txt. To train on JSON itself, copy the file to a name that ends in .txt",
        path);
}

void refuse_zero_bytes(const std::string& path, std::span<const std::byte> bytes) {
  const auto begin = bytes.first(std::min(bytes.size(), looked_at));
  const auto zero = std::find(begin.begin(), begin.end(), std::byte{0});
  if (zero == begin.end()) return;
  base::refuse(
      "{0}: is no plain text: its byte {1} is zero. prepare makes a token of each byte, so it takes plain text only. It may be "
      "a program, a picture or tokens already. If it is text in UTF-16, convert it: iconv -f UTF-16 -t UTF-8 '{0}' > text.txt",
      path, zero - begin.begin());
}

}  // namespace

base::MappedFile open_text(const std::string& path) {
  base::MappedFile file(path);
  const auto bytes = file.bytes();
  if (bytes.empty()) base::refuse("{}: empty, a document needs at least one byte", path);
  if (const base::FileForm* const form = base::form_of(bytes); form && form->for_text)
    base::refuse("{}: {}. prepare makes a token of each byte, so it takes plain text only. {}", path, form->what, form->for_text);
  if (base::is_safetensors(bytes)) base::refuse("{}: is a safetensors file: weights, no text", path);
  refuse_json(path);
  refuse_zero_bytes(path, bytes);
  return file;
}

}  // namespace trireme::data
