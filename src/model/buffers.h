// Views of the buffers of spec/buffers.h, taken by walking that table.
#pragma once

#include <array>

#include "kernels/device.h"
#include "spec/buffers.h"

namespace trireme::model {

using kernels::View;

class Buffers {
 public:
  View operator[](spec::Buffer buffer) const { return views_[static_cast<std::size_t>(buffer)]; }

  /// Takes one owner's buffers from `arena`: those that are shared, or the others. A copy of this object then has them too.
  void take(spec::Owner owner, bool shared, const spec::Sizes& sizes, kernels::Arena& arena) {
    for (const spec::BufferFacts& facts : spec::buffers())
      if (facts.owner == owner && is_shared(facts.life) == shared)
        views_[static_cast<std::size_t>(facts.buffer)] = arena.take(facts.type(sizes), facts.elements(sizes));
  }

 private:
  std::array<View, spec::buffer_count> views_;
};

}  // namespace trireme::model
