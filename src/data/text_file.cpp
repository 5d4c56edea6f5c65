#include "data/text_file.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/error.h"

namespace trireme::data {
namespace {

using namespace std::string_view_literals;

struct Form {
  std::string_view bytes;  // that such a file has ...
  std::size_t at;          // ... from this byte on
  const char *what, *cure;
};

constexpr const char* extract = "Extract the text into a file first";

constexpr Form forms[] = {
    {"\x1f\x8b"sv, 0, "is compressed by gzip", "Run: gzip -d"},
    {"\x28\xb5\x2f\xfd"sv, 0, "is compressed by zstd", "Run: zstd -d"},
    {"\xfd"
     "7zXZ\0"sv,
     0, "is compressed by xz", "Run: xz -d"},
    {"1AY&SY"sv, 4, "is compressed by bzip2", "Run: bzip2 -d"},
    {"\x04\x22\x4d\x18"sv, 0, "is compressed by lz4", "Run: lz4 -d"},
    {"PK\x03\x04"sv, 0, "is a zip archive", "Run: unzip"},
    {"7z\xbc\xaf\x27\x1c"sv, 0, "is a 7-Zip archive", "Run: 7z x"},
    {"ustar"sv, 257, "is a tar archive", "Run: tar -xf"},
    {"PAR1"sv, 0, "is a Parquet table", extract},
    {"ARROW1"sv, 0, "is an Arrow table", extract},
    {"\x89HDF\r\n\x1a\n"sv, 0, "is an HDF5 file", extract},
    {"SQLite format 3\0"sv, 0, "is an SQLite database", extract},
    {"%PDF-"sv, 0, "is a PDF document", extract},
    {"MMIDIDX\0\0"sv, 0, "is the index of a token file", "Give the text it was made of"},
    {"\xff\xfe"sv, 0, "is text in UTF-16", "Convert it first: iconv -f UTF-16 -t UTF-8"},
    {"\xfe\xff"sv, 0, "is text in UTF-16", "Convert it first: iconv -f UTF-16 -t UTF-8"},
};

bool holds(std::string_view bytes, const Form& form) {
  return bytes.size() >= form.at + form.bytes.size() && bytes.substr(form.at, form.bytes.size()) == form.bytes;
}

std::string ending_of(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending;
}

}  // namespace

base::MappedFile open_text(const std::string& path) {
  base::MappedFile file(path);
  if (file.bytes().empty()) base::refuse("{}: empty, a document needs at least one byte", path);
  const std::string_view bytes(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  const auto* const form = std::find_if(std::begin(forms), std::end(forms), [&](const Form& f) { return holds(bytes, f); });
  if (form != std::end(forms))
    base::refuse("{}: {}. prepare makes a token of each byte, so it takes plain text only. {}", path, form->what, form->cure);
  const std::string ending = ending_of(path);
  if (ending == ".jsonl" || ending == ".ndjson" || ending == ".json")
    base::refuse(
        "{0}: is JSON by its name. prepare makes a token of each byte, brackets and keys too. Extract the text first, for "
        "example: jq -r .text '{0}' > text.txt. To train on JSON itself, copy the file to a name that ends in .txt",
        path);
  return file;
}

}  // namespace trireme::data
