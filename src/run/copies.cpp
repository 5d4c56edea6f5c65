#include "run/copies.h"

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"

namespace trireme::run {
namespace {

constexpr std::size_t most_listed = 16;  // ranks of a group in the message

/// Every member's numbers, in the order of the members.
std::vector<std::int64_t> gathered(grid::Control group, std::vector<std::int64_t>& own) {
  std::vector<std::int64_t> all(own.size() * static_cast<std::size_t>(group.size()));
  group.all_gather(own, all);
  return all;
}

std::vector<std::int64_t> row_hashes(train::Replica& replica) {
  std::vector<std::int64_t> hashes;
  std::vector<float> host;
  for (const spec::LocalParameter& row : replica.table().rows) {
    host.resize(static_cast<std::size_t>(row.elements));
    replica.device().download(host.data(), replica.weights().slice(row.offset, row.elements));
    hashes.push_back(static_cast<std::int64_t>(base::hash64(std::as_bytes(std::span(host)))));
  }
  return hashes;
}

using Holders = std::map<std::int64_t, std::vector<int>>;  // hash -> world ranks

/// "rank 3", "ranks 1, 5, 7"
std::string ranks_text(const std::vector<int>& ranks) {
  const std::size_t listed = std::min(ranks.size(), most_listed);
  return fmt::format("rank{} {}{}", ranks.size() > 1 ? "s" : "", fmt::join(ranks.begin(), ranks.begin() + listed, ", "),
                     listed < ranks.size() ? fmt::format(", ... ({} in all)", ranks.size()) : "");
}

std::string fault_text(const std::string& parameter, const Holders& holders) {
  std::vector<std::vector<int>> sides;
  for (const auto& [hash, ranks] : holders) sides.push_back(ranks);
  for (auto& side : sides) std::sort(side.begin(), side.end());
  std::sort(sides.begin(), sides.end(),
            [](const auto& a, const auto& b) { return std::pair(a.size(), a) < std::pair(b.size(), b); });
  std::string text;
  for (const auto& side : sides) text += (text.empty() ? "" : " against ") + ranks_text(side);
  return fmt::format("copies of {} differ: {}", parameter, text);
}

/// What this rank sees: the first row whose copies differ, or nothing.
std::string differing_here(const spec::LocalTable& table, std::vector<std::int64_t> own, grid::Grid& grid) {
  const std::size_t rows = own.size();
  const grid::Shape& shape = grid.shape();
  std::vector<std::int64_t> over_data = gathered(grid.data_control(), own);            // [d, rows]
  const std::vector<std::int64_t> stage = gathered(grid.tensor_control(), over_data);  // [t, d, rows]
  const auto hash = [&](int t, int d, std::size_t k) { return stage[(t * shape.data + d) * rows + k]; };
  std::vector<std::int64_t> embedding(shape.data), both_ends;  // [d], [2, d]
  const bool first = grid.at().pipeline == 0;
  std::size_t tied = rows;
  if (grid.has_tied()) {
    tied = table.find(spec::token_embedding, !first) - table.rows.data();
    for (int d = 0; d < shape.data; ++d) embedding[d] = hash(grid.at().tensor, d, tied);
    both_ends = gathered(grid.tied_control(), embedding);
  }
  for (std::size_t k = 0; k < rows; ++k) {
    const spec::Parameter& parameter = table.parameter(table.rows[k]);
    Holders holders;
    for (int t = 0; t < shape.tensor; ++t)
      for (int d = 0; d < shape.data && (!parameter.split_axis || t == grid.at().tensor); ++d)
        holders[hash(t, d, k)].push_back(rank_of(shape, {t, d, grid.at().pipeline}));
    for (int d = 0; k == tied && d < shape.data; ++d)
      holders[both_ends[(first ? shape.data : 0) + d]].push_back(
          rank_of(shape, {grid.at().tensor, d, first ? shape.pipeline - 1 : 0}));
    if (holders.size() > 1) return fault_text(parameter.name, holders);
  }
  return "";
}

}  // namespace

std::string differing_copies(train::Replica& replica) {
  std::string text = differing_here(replica.table(), row_hashes(replica), replica.grid());
  grid::World& world = replica.grid().world();
  // The lowest rank that sees a difference speaks for all.
  std::int64_t speaker = text.empty() ? 0 : world.size() - world.rank();
  world.everyone().all_reduce(speaker, grid::Reduce::maximum);
  if (speaker == 0) return "";
  world.everyone().broadcast(text, static_cast<int>(world.size() - speaker));
  return text;
}

}  // namespace trireme::run
