#include "base/file_form.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace trireme::base {
namespace {

using namespace std::string_view_literals;

constexpr const char *extract = "Extract the text into a file first", *text = "Give a file of plain text",
                     *weights = "This program reads weights from .safetensors files",
                     *pickle =
                         "PyTorch's own format of weights is one; this program reads .safetensors, which save_pretrained of "
                         "Hugging Face's library writes",
                     *utf_16 = "Convert it first: iconv -f UTF-16 -t UTF-8", *lfs = "Fetch the file itself: git lfs pull";

constexpr FileForm forms[] = {
    {"\x1f\x8b"sv, 0, "is compressed by gzip", "Run: gzip -d", "Run: gzip -d"},
    {"\x28\xb5\x2f\xfd"sv, 0, "is compressed by zstd", "Run: zstd -d", "Run: zstd -d"},
    {"\xfd"
     "7zXZ\0"sv,
     0, "is compressed by xz", "Run: xz -d", "Run: xz -d"},
    {"1AY&SY"sv, 4, "is compressed by bzip2", "Run: bzip2 -d", "Run: bzip2 -d"},
    {"\x04\x22\x4d\x18"sv, 0, "is compressed by lz4", "Run: lz4 -d", "Run: lz4 -d"},
    {"PK\x03\x04"sv, 0, "is a zip archive", "Run: unzip", pickle},
    {"\x80\x02"sv, 0, "is a pickle of Python", extract, pickle},
    {"7z\xbc\xaf\x27\x1c"sv, 0, "is a 7-Zip archive", "Run: 7z x", "Run: 7z x"},
    {"ustar"sv, 257, "is a tar archive", "Run: tar -xf", "Run: tar -xf"},
    {"PAR1"sv, 0, "is a Parquet table", extract, weights},
    {"ARROW1"sv, 0, "is an Arrow table", extract, weights},
    {"\x89HDF\r\n\x1a\n"sv, 0, "is an HDF5 file", extract, "Of a checkpoint of this program, name the folder that it lies in"},
    {"SQLite format 3\0"sv, 0, "is an SQLite database", extract, weights},
    {"%PDF-"sv, 0, "is a PDF document", extract, weights},
    {"GGUF"sv, 0, "is a GGUF file", text, weights},
    {"\x7f"
     "ELF"sv,
     0, "is a program", text, weights},
    {"\x89PNG"sv, 0, "is a picture", text, weights},
    {"\xff\xd8\xff"sv, 0, "is a picture", text, weights},
    {"version https://git-lfs"sv, 0, "is a pointer of Git LFS, not the file itself", lfs, lfs},
    {"MMIDIDX\0\0"sv, 0, "is the index of a token file", "Give the text it was made of", weights},
    {"\xff\xfe\0\0"sv, 0, "is text in UTF-32", "Convert it first: iconv -f UTF-32 -t UTF-8", weights},
    {"\xff\xfe"sv, 0, "is text in UTF-16", utf_16, weights},
    {"\xfe\xff"sv, 0, "is text in UTF-16", utf_16, weights},
    {"<"sv, 0, "is a page or another text, no weights", nullptr, "The download may have failed"},
};

std::string_view view_of(std::span<const std::byte> file) { return {reinterpret_cast<const char*>(file.data()), file.size()}; }

}  // namespace

const FileForm* form_of(std::span<const std::byte> file) {
  const std::string_view bytes = view_of(file);
  const auto* const found = std::find_if(std::begin(forms), std::end(forms), [&](const FileForm& form) {
    return bytes.size() >= form.at && bytes.substr(form.at).starts_with(form.bytes);
  });
  return found == std::end(forms) ? nullptr : found;
}

bool is_safetensors(std::span<const std::byte> file) {
  std::uint64_t length = 0;  // little-endian, as the format is
  if (file.size() <= sizeof length) return false;
  std::memcpy(&length, file.data(), sizeof length);
  return length <= file.size() - sizeof length && view_of(file)[sizeof length] == '{';
}

}  // namespace trireme::base
