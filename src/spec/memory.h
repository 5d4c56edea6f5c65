// The bytes of a pipeline stage by class of memory, known before anything is made.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "spec/buffers.h"
#include "spec/local_table.h"
#include "spec/state.h"

namespace trireme::spec {

/// The arenas of a run in their order, and what reductions exchange pieces in.
enum class MemoryClass { parameters, gradients, optimizer, activations, scratch, snapshot, communication };
inline constexpr std::array<std::string_view, 7> memory_classes = {"parameters", "gradients", "optimizer",    "activations",
                                                                   "scratch",    "snapshot",  "communication"};
constexpr std::string_view name_of(MemoryClass memory) { return memory_classes[static_cast<std::size_t>(memory)]; }

struct StageMemory {
  std::array<std::int64_t, memory_classes.size()> bytes{};  // of one rank, by class

  std::int64_t& operator[](MemoryClass memory) { return bytes[static_cast<std::size_t>(memory)]; }
  std::int64_t operator[](MemoryClass memory) const { return bytes[static_cast<std::size_t>(memory)]; }
  std::int64_t total() const;
};

/// What the layout adds to the configuration, for one stage.
struct MemoryLayout {
  int stage = 0;
  int data = 1;                     // d
  std::vector<int> slots;           // microbatches alive at most in each chunk of the stage
  std::int64_t exchange_bytes = 0;  // a communicator's scratch at most
};

/// Pure. Every tensor and data rank of the stage takes the same; nothing is recomputed. Snapshot is what a checkpoint is written
/// from while training goes on: the most that a rank of the stage stores. Communication is the scratch of the reductions of the
/// tensor, data, model and tied groups; the MPI library's own memory and the program's are not in it.
StageMemory stage_memory(const config::Config& config, const StageMap& map, const MemoryLayout& layout);

/// Bytes of a checkpoint of the whole model: what is stored of each parameter (spec/state.h), without padding.
std::int64_t checkpoint_bytes(const config::Model& model);

}  // namespace trireme::spec
