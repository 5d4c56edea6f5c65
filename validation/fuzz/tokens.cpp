// PREFIX.idx and PREFIX.bin in one: the index's length, 32 bits, the index, the tokens.
#include <algorithm>
#include <cstring>

#include "data/token_writer.h"
#include "validation/fuzz/format.h"
#include "validation/fuzz/scratch.h"

namespace trireme::fuzz {
namespace {

constexpr std::int64_t vocabulary = 70000;

/// Of three documents, one of them empty.
std::string pair(std::int64_t ids) {
  const Scratch scratch;
  data::TokenWriter writer(scratch.file("tokens"), ids);
  for (const std::vector<std::int32_t>& document : {std::vector<std::int32_t>{1, 2, 3, 0}, {}, {7, 9}}) {
    writer.append(document);
    writer.end_document();
  }
  writer.finish();
  const std::string index = scratch.get("tokens.idx");
  const auto length = static_cast<std::uint32_t>(index.size());
  return std::string(reinterpret_cast<const char*>(&length), 4) + index + scratch.get("tokens.bin");
}

void read(const std::string& bytes) {
  static const Scratch scratch;
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data(), std::min<std::size_t>(bytes.size(), 4));
  const std::string rest = bytes.substr(std::min<std::size_t>(bytes.size(), 4));
  const std::size_t cut = std::min<std::size_t>(length, rest.size());
  scratch.put("fuzz.idx", rest.substr(0, cut));
  scratch.put("fuzz.bin", rest.substr(cut));
  data::TokenFile(scratch.file("fuzz"), vocabulary).check_ids();
}

}  // namespace

Format tokens() {
  return {"tokens", [] { return std::vector<std::string>{pair(100), pair(vocabulary)}; }, read};
}

}  // namespace trireme::fuzz
