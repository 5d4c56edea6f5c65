// Shapes of tensors and the boxes (hyperslabs) in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trireme::store {

using Shape = std::vector<std::int64_t>;

/// Product of the extents, 1 for a scalar; nothing when 64 bits do not hold it.
std::optional<std::int64_t> product(const Shape& shape);
/// The same, a failure when 64 bits do not hold it.
std::int64_t elements_of(const Shape& shape);
/// "[3, 4]", for messages.
std::string to_string(const Shape& shape);

/// The elements start[i] .. start[i] + count[i] - 1 of each axis; both of the tensor's number of axes.
struct Box {
  Shape start, count;
  bool operator==(const Box&) const = default;
};

/// Whether `box` has the axes of `shape` and lies inside it.
bool inside(const Box& box, const Shape& shape);
/// What two boxes of one tensor share; a count is 0 where nothing.
Box intersection(const Box& a, const Box& b);
/// Cuts a dense row-major block of `count` into boxes of at most `limit` elements (at least 1), each contiguous in memory and in
/// memory order. None for a block without elements.
std::vector<Box> pieces(const Shape& count, std::int64_t limit);

}  // namespace trireme::store
