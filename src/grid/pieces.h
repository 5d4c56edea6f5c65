// How a span is cut over the members of a group, and over the rounds of an exchange.
#pragma once

#include <algorithm>
#include <cstdint>

namespace trireme::grid {

/// Elements first .. first + count - 1 of a span cut over `size` members, as evenly as can be, the longer pieces first.
struct Piece {
  std::int64_t first, count;
};

inline Piece piece_of(std::int64_t count, int size, int member) {
  const std::int64_t base = count / size, rest = count % size;
  return {member * base + std::min<std::int64_t>(member, rest), base + (member < rest ? 1 : 0)};
}

/// The part of a piece that one round exchanges.
inline Piece round_of(Piece piece, std::int64_t round, std::int64_t elements) {
  const std::int64_t skip = std::min(piece.count, round * elements);
  return {piece.first + skip, std::min(elements, piece.count - skip)};
}

}  // namespace trireme::grid
