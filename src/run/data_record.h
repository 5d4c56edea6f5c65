// What the order of a run's samples rests on: kept in its checkpoints, and compared when it goes on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/config.h"
#include "data/token_file.h"
#include "grid/world.h"
#include "store/manifest.h"

namespace trireme::run {

/// Of a small file every token, of a large one pieces from all over it: a change of a few tokens there may go unseen.
store::TokensRecord record_of(const data::TokenFile& file);

/// Tokens first .. first + count - 1 of a file.
struct PieceRecord {
  std::int64_t first, count;
  std::uint64_t hash;
  bool operator==(const PieceRecord&) const = default;
};
/// Of the same pieces, as far as they lie in the first `bytes` of the file.
std::vector<PieceRecord> records_of_pieces(const data::TokenFile& file, std::int64_t bytes);

/// A line for each thing that differs: "tokens: 5000 in the checkpoint, 6000 now".
std::vector<std::string> differences(const store::TokensRecord& checkpoint, const store::TokensRecord& now);

/// Every rank: refuses (bad_input, with rank and host) when a rank finds other data under the same name than rank 0.
void refuse_unless_same_data(grid::World& world, const config::Data& names, const store::DataRecord& own);

}  // namespace trireme::run
