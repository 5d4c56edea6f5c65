// Reader of Megatron's token files: PREFIX.bin holds the ids of all documents one after the other, PREFIX.idx says their type
// and where documents begin. Layout of PREFIX.idx, little-endian, N sequences, D document boundaries (= documents + 1):
//   0 magic "MMIDIDX\0\0" | 9 u64 version 1 | 17 u8 dtype code | 18 u64 N | 26 u64 D
//   34 i32 length in tokens [N] | i64 offset in bytes [N] | i64 first sequence of each document [D]
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/piecewise_file.h"

namespace trireme::data {

enum class IdType : std::uint8_t { i32 = 4, u16 = 8 };  // codes of PREFIX.idx; the only two that hold token ids

inline constexpr char index_magic[9] = {'M', 'M', 'I', 'D', 'I', 'D', 'X', 0, 0};
inline constexpr std::uint64_t index_version = 1;
inline constexpr std::int64_t index_header_bytes = 34;

constexpr std::int64_t bytes_of(IdType type) { return type == IdType::u16 ? 2 : 4; }

/// The documents of PREFIX as one stream of tokens. Every defect of the pair of files is an Error (bad_input) that names the
/// file, what it holds and what was expected. Threads may read at the same time.
class TokenFile {
 public:
  /// Opens both files and checks the index entirely, without touching the ids. `vocabulary` is V: ids are 0 .. V-1.
  TokenFile(const std::string& prefix, std::int64_t vocabulary);

  const std::string& prefix() const { return prefix_; }
  std::int64_t vocabulary() const { return vocabulary_; }
  std::int64_t bytes_of_id() const { return bytes_of(type_); }
  std::int64_t tokens() const { return tokens_; }
  std::int64_t documents() const { return documents_; }
  /// XXH3 of all of PREFIX.idx.
  std::uint64_t index_hash() const { return index_hash_; }
  /// Of the open PREFIX.bin, as it is now, whatever has that name; of PREFIX.idx, from before it was read.
  base::FileFacts ids_facts() const { return ids_.facts(); }
  const std::optional<base::FileFacts>& index_facts() const { return index_facts_; }

  /// Tokens first .. first + count - 1 of the stream into out [count]. Refuses an id outside the vocabulary; throws
  /// base::Error (failure) when the file has been cut short or cannot be read.
  void read(std::int64_t first, std::int64_t count, std::int32_t* out) const;

  /// Scans all ids. One rank is enough.
  void check_ids() const;

 private:
  void check_index(const std::string& path, std::span<const std::byte> index);

  std::string prefix_;
  std::int64_t vocabulary_;
  base::PiecewiseFile ids_;
  std::optional<base::FileFacts> index_facts_;
  IdType type_{};
  std::int64_t tokens_ = 0, documents_ = 0;
  std::uint64_t index_hash_ = 0;
};

}  // namespace trireme::data
