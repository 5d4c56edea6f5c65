#include "store/seal.h"

#include <cerrno>
#include <fstream>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"

namespace trireme::store {
namespace {

std::string line_for(std::span<const std::byte> bytes) {
  return fmt::format("\ntrireme: XXH3 of all bytes before this line: {:016x}\n", base::hash64(bytes));
}

}  // namespace

void seal(const std::string& path) {
  const std::string line = line_for(base::MappedFile(path).bytes());
  std::ofstream file(path, std::ios::app | std::ios::binary);
  if (!(file << line).flush()) base::fail("{}: cannot write: {}", path, base::system_words(errno));
}

std::string seal_fault(const std::string& path) {
  const base::MappedFile file(path);
  const std::span<const std::byte> bytes = file.bytes();
  const std::size_t length = line_for({}).size(), words = length - 17;  // without checksum and line feed
  if (bytes.size() < length) return "it is too short";
  const auto body = bytes.first(bytes.size() - length);
  const std::string expected = line_for(body);
  const std::string_view found(reinterpret_cast<const char*>(bytes.data() + body.size()), length);
  if (found.substr(0, words) != expected.substr(0, words))
    return "the checksum at its end is missing: it was cut short, is another file, or an earlier version of the program wrote it";
  return found == expected ? "" : "damaged: its bytes are not those that were written";
}

}  // namespace trireme::store
