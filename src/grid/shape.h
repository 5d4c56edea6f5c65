// Shape and coordinates of the process grid, as numbers: no MPI.
#pragma once

#include <cstdint>

namespace trireme::grid {

/// Ranks along each axis: t, d, p.
struct Shape {
  int tensor = 1, data = 1, pipeline = 1;
  int ranks() const { return tensor * data * pipeline; }
};

struct Coordinates {
  int tensor = 0, data = 0, pipeline = 0;
  bool operator==(const Coordinates&) const = default;
};

constexpr int rank_of(const Shape& shape, const Coordinates& at) {
  return at.tensor + shape.tensor * (at.data + shape.data * at.pipeline);
}

constexpr Coordinates coordinates_of(const Shape& shape, int rank) {
  return {rank % shape.tensor, rank / shape.tensor % shape.data, rank / (shape.tensor * shape.data)};
}

/// A first-in-first-out path from one stage to another one.
struct ChannelSpec {
  int sender, receiver;  // stages
};

/// Bytes of scratch that a communicator's reductions take at most: longer ones run in several rounds.
inline constexpr std::int64_t exchange_scratch_limit = std::int64_t{16} << 20;

}  // namespace trireme::grid
