#include "store/shape.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "base/error.h"

namespace trireme::store {

std::optional<std::int64_t> product(const Shape& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape)
    if (__builtin_mul_overflow(elements, extent, &elements)) return {};
  return elements;
}

std::int64_t elements_of(const Shape& shape) {
  const auto elements = product(shape);
  if (!elements) base::fail("shape {} has more elements than 64 bits count", to_string(shape));
  return *elements;
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

bool inside(const Box& box, const Shape& shape) {
  bool good = box.start.size() == shape.size() && box.count.size() == shape.size();
  for (std::size_t i = 0; good && i < shape.size(); ++i)
    good = box.start[i] >= 0 && box.count[i] >= 0 && box.start[i] <= shape[i] && box.count[i] <= shape[i] - box.start[i];
  return good;
}

Box intersection(const Box& a, const Box& b) {
  Box common = a;
  for (std::size_t i = 0; i < a.start.size(); ++i) {
    const std::int64_t end = std::min(a.start[i] + a.count[i], b.start[i] + b.count[i]);
    common.start[i] = std::max(a.start[i], b.start[i]);
    common.count[i] = std::max<std::int64_t>(end - common.start[i], 0);
  }
  return common;
}

std::vector<Box> pieces(const Shape& count, std::int64_t limit) {
  if (elements_of(count) == 0) return {};
  const std::size_t axes = count.size();
  // The axes after `axis` fit whole; along it as many as fit; before it one at a time.
  std::size_t axis = axes;
  std::int64_t inner = 1;
  while (axis > 0 && inner * count[axis - 1] <= limit) inner *= count[--axis];
  if (axis == 0) return {{Shape(axes, 0), count}};
  --axis;
  const std::int64_t step = std::max<std::int64_t>(limit / inner, 1);
  std::vector<Box> boxes;
  Box box{Shape(axes, 0), count};
  std::fill(box.count.begin(), box.count.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  for (;;) {
    box.count[axis] = std::min(step, count[axis] - box.start[axis]);
    boxes.push_back(box);
    box.start[axis] += step;
    std::size_t k = axis;
    while (box.start[k] >= count[k]) {  // carry
      if (k == 0) return boxes;
      box.start[k] = 0;
      ++box.start[--k];
    }
  }
}

}  // namespace trireme::store
