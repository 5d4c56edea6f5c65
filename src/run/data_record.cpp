#include "run/data_record.h"

#include <algorithm>
#include <limits>
#include <span>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"

namespace trireme::run {
namespace {

constexpr std::int64_t piece = 1 << 14;  // tokens
constexpr std::int64_t most_pieces = 1 << 10;

/// Calls work(first, tokens) for the pieces of a file that lie in its first `bytes`, in order.
template <class Work>
void for_each_piece(const data::TokenFile& file, std::int64_t bytes, const Work& work) {
  const std::int64_t tokens = file.tokens(), all = (tokens + piece - 1) / piece, count = std::min(all, most_pieces);
  std::vector<std::int32_t> ids;
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t first = count < all ? (tokens - piece) * k / (count - 1) : piece * k;
    ids.resize(static_cast<std::size_t>(std::min(piece, tokens - first)));
    if ((first + std::ssize(ids)) * file.bytes_of_id() > bytes) return;
    file.read(first, std::ssize(ids), ids.data());
    work(first, std::span<const std::int32_t>(ids));
  }
}

std::uint64_t hash_of_contents(const data::TokenFile& file) {
  base::Hash64 hash;
  for_each_piece(file, std::numeric_limits<std::int64_t>::max(),
                 [&](std::int64_t, std::span<const std::int32_t> tokens) { hash.add(std::as_bytes(tokens)); });
  return hash.value();
}

std::string text(const store::TokensRecord& record) {
  return fmt::format("{} in {}, hash of the index {:016x}, of the tokens {:016x}", base::counted(record.tokens, "token"),
                     base::counted(record.documents, "document"), record.index, record.contents);
}

void refuse_other_data(grid::World& world, const char* key, const std::string& prefix, const std::string& own) {
  std::string first = own;
  world.everyone().broadcast(first);
  world.agree([&] {
    if (own != first)
      base::refuse(
          "{} = \"{}\": rank {} on {} finds other data there than rank 0:\n  rank 0: {}\n  rank {}: {}\n"
          "All ranks must read the same files: start them in the same folder, and copy the data to every node or to a file "
          "system that they share",
          key, prefix, world.rank(), world.host(), first, world.rank(), own);
  });
}

}  // namespace

store::TokensRecord record_of(const data::TokenFile& file) {
  return {file.tokens(), file.documents(), file.index_hash(), hash_of_contents(file)};
}

std::vector<PieceRecord> records_of_pieces(const data::TokenFile& file, std::int64_t bytes) {
  std::vector<PieceRecord> records;
  for_each_piece(file, bytes, [&](std::int64_t first, std::span<const std::int32_t> tokens) {
    records.push_back({first, std::ssize(tokens), base::hash64(std::as_bytes(tokens))});
  });
  return records;
}

std::vector<std::string> differences(const store::TokensRecord& checkpoint, const store::TokensRecord& now) {
  std::vector<std::string> lines;
  const auto compare = [&](const char* name, const auto& before, const auto& after) {
    if (before != after) lines.push_back(fmt::format("{}: {} in the checkpoint, {} now", name, before, after));
  };
  compare("tokens", checkpoint.tokens, now.tokens);
  compare("documents", checkpoint.documents, now.documents);
  compare("hash of the index", fmt::format("{:016x}", checkpoint.index), fmt::format("{:016x}", now.index));
  compare("hash of the tokens", fmt::format("{:016x}", checkpoint.contents), fmt::format("{:016x}", now.contents));
  return lines;
}

void refuse_unless_same_data(grid::World& world, const config::Data& names, const store::DataRecord& own) {
  if (own.training) refuse_other_data(world, "data.tokens", names.tokens, text(*own.training));
  if (own.validation) refuse_other_data(world, "data.validation", names.validation, text(*own.validation));
}

}  // namespace trireme::run
