#include "data/token_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"

namespace trireme::data {
namespace {

using base::refuse;

static_assert(std::endian::native == std::endian::little, "token files are little-endian and read as they are");

/// The prefix of a pair PREFIX.bin, PREFIX.idx that is there.
const std::string& prefix_of_pair(const std::string& prefix) {
  for (const char* ending : {".idx", ".bin"})
    if (!std::filesystem::exists(prefix + ending))
      refuse(
          "{0}{1}: no such file{2}; tokens are a pair PREFIX.bin and PREFIX.idx, here with the prefix \"{0}\" (trireme prepare "
          "makes one)",
          prefix, ending, base::looked_for(prefix + ending));
  return prefix;
}

/// Fields are not aligned (34 is no multiple of 8), so each is copied out.
template <class T>
T load(const std::byte* from, std::int64_t element = 0) {
  T value;
  std::memcpy(&value, from + element * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

IdType id_type(const std::string& path, int code) {
  constexpr std::array names = {"0", "uint8", "int8", "int16", "int32", "int64", "float64", "float32", "uint16"};
  if (code == static_cast<int>(IdType::i32) || code == static_cast<int>(IdType::u16)) return static_cast<IdType>(code);
  refuse("{}: ids of type {} (code {}): expected uint16 (code 8) or int32 (code 4)", path,
         code < static_cast<int>(names.size()) ? names[code] : "unknown", code);
}

/// Narrow ids that lie at the end of `out` become wide ones: no id is overwritten before it is read.
void widen(std::int64_t count, std::int32_t* out) {
  const std::byte* const narrow = reinterpret_cast<const std::byte*>(out) + 2 * count;
  for (std::int64_t i = 0; i < count; ++i) out[i] = load<std::uint16_t>(narrow, i);
}

/// The largest id, negative ones counting as larger than all others.
std::uint32_t largest(const std::int32_t* ids, std::int64_t count) {
  std::uint32_t result = 0;
  for (std::int64_t i = 0; i < count; ++i) result = std::max(result, static_cast<std::uint32_t>(ids[i]));
  return result;
}

}  // namespace

TokenFile::TokenFile(const std::string& prefix, std::int64_t vocabulary)
    : prefix_(prefix_of_pair(prefix)),
      vocabulary_(vocabulary),
      ids_(prefix + ".bin"),
      index_facts_(base::facts_of(prefix + ".idx")) {
  check_index(prefix + ".idx", base::MappedFile(prefix + ".idx").bytes());
}

void TokenFile::check_index(const std::string& path, std::span<const std::byte> index) {
  const std::byte* const bytes = index.data();
  const std::int64_t size = std::ssize(index);
  if (size < index_header_bytes)
    refuse("{}: truncated: {}, the header alone has {}", path, base::counted(size, "byte"), index_header_bytes);
  if (std::memcmp(bytes, index_magic, sizeof index_magic) != 0)
    refuse("{}: not an index of tokens: expected the first bytes \"MMIDIDX\\0\\0\"", path);
  if (const auto version = load<std::uint64_t>(bytes + 9); version != index_version)
    refuse("{}: version {}: expected {}", path, version, index_version);
  type_ = id_type(path, load<std::uint8_t>(bytes + 17));

  const auto sequences = load<std::uint64_t>(bytes + 18), boundaries = load<std::uint64_t>(bytes + 26);
  const auto most = static_cast<std::uint64_t>(size) / 8;  // keeps the product below from running over
  const auto N = static_cast<std::int64_t>(std::min(sequences, most)), D = static_cast<std::int64_t>(std::min(boundaries, most));
  const std::int64_t expected = index_header_bytes + 12 * N + 8 * D;
  if (sequences > most || boundaries > most || size < expected)
    refuse("{}: truncated: {} bytes are too few for {} sequences and {} document boundaries", path, size, sequences, boundaries);
  if (N > 0 && size == expected + N)
    refuse("{}: {} bytes after the document boundaries: a multimodal index (a mode for each sequence); expected text only", path,
           N);
  if (size > expected) refuse("{}: too long: {} bytes, expected {}", path, size, expected);

  const std::byte* const lengths = bytes + index_header_bytes;
  const std::byte* const offsets = lengths + 4 * N;
  const std::byte* const documents = offsets + 8 * N;
  for (std::int64_t i = 0; i < N; ++i) {
    const auto length = load<std::int32_t>(lengths, i);
    const auto offset = load<std::int64_t>(offsets, i);
    if (length < 0) refuse("{}: sequence {} has the length {}", path, i, length);
    if (offset != tokens_ * bytes_of(type_))
      refuse("{}: sequence {} begins at byte {}: expected {}, the sum of the lengths before it", path, i, offset,
             tokens_ * bytes_of(type_));
    tokens_ += length;
  }
  if (D == 0) refuse("{}: no document boundaries: expected at least the first, 0", path);
  for (std::int64_t i = 0, last = 0; i < D; ++i) {
    const auto boundary = load<std::int64_t>(documents, i);
    if (boundary < last || boundary > N || (i == 0 && boundary != 0) || (i == D - 1 && boundary != N))
      refuse("{}: document boundary {} is {}: expected them to rise from 0 to {}", path, i, boundary, N);
    last = boundary;
  }
  documents_ = D - 1;
  index_hash_ = base::hash64(index);
  if (const std::int64_t bin = tokens_ * bytes_of(type_); ids_.size() != bin)
    refuse("{}.bin: {}: {} bytes, expected {} ({} tokens of {} bytes by {})", prefix_,
           ids_.size() < bin ? "truncated" : "too long", ids_.size(), bin, tokens_, bytes_of(type_), path);
}

void TokenFile::read(std::int64_t first, std::int64_t count, std::int32_t* out) const {
  if (first < 0 || count < 0 || first > tokens_ - count)
    base::fail("{}.bin: read of tokens {} to {} of {}", prefix_, first, first + count - 1, tokens_);
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(out, static_cast<std::size_t>(count)));
  const std::int64_t size = count * bytes_of(type_);
  ids_.read(first * bytes_of(type_), bytes.last(static_cast<std::size_t>(size)));
  if (type_ == IdType::u16) widen(count, out);
  if (largest(out, count) < vocabulary_) return;
  const auto* bad = std::find_if(out, out + count, [&](std::int32_t id) { return id < 0 || id >= vocabulary_; });
  refuse("{}.bin: token {} is {}: expected ids from 0 to {} (model.vocabulary = {})", prefix_, first + (bad - out), *bad,
         vocabulary_ - 1, vocabulary_);
}

void TokenFile::check_ids() const {
  std::vector<std::int32_t> block(16384);  // stays in cache
  for (std::int64_t first = 0; first < tokens_; first += std::ssize(block))
    read(first, std::min(std::ssize(block), tokens_ - first), block.data());
}

}  // namespace trireme::data
