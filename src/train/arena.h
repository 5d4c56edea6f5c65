// Memory of a run: an arena for each class of spec/memory.h.
#pragma once

#include "kernels/device.h"
#include "spec/memory.h"

namespace trireme::train {

/// An arena, and what it is in the prediction.
struct ClassArena {
  spec::MemoryClass memory;
  const kernels::Arena* arena;
};

/// The arena of a class, named after it and as large as `predicted` says.
inline kernels::Arena make_arena(kernels::Device& device, const spec::StageMemory& predicted, spec::MemoryClass memory) {
  return {device, std::string(name_of(memory)), predicted[memory]};
}

}  // namespace trireme::train
