// What a rank's memory is made of: the size of every buffer of a layer, said here once (the model takes what this says), and the
// bytes of a stage by class, known before anything is made.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "spec/local_table.h"

namespace trireme::spec {

/// What one rank computes on for one microbatch, elements.
struct Sizes {
  std::int64_t rows;              // n = s b
  std::int64_t hidden;            // h
  std::int64_t local_hidden;      // h/t
  std::int64_t feed_forward;      // 4h/t
  std::int64_t local_heads;       // a/t
  std::int64_t local_vocabulary;  // Vp/t
};
Sizes make_sizes(const config::Model& model, std::int64_t micro_batch, int tensor);

/// Elements (fp32) of each buffer, in the order of model::LayerActivations, LayerScratch and HeadScratch.
std::array<std::int64_t, 13> layer_activations(const Sizes& sizes);
std::array<std::int64_t, 5> layer_scratch(const Sizes& sizes);
std::array<std::int64_t, 8> head_scratch(const Sizes& sizes);

/// The classes of memory: the arenas of a run in their order, and what reductions exchange pieces in.
inline constexpr std::array<std::string_view, 7> memory_classes = {"parameters", "gradients", "optimizer",    "activations",
                                                                   "scratch",    "snapshot",  "communication"};
struct StageMemory {
  std::array<std::int64_t, memory_classes.size()> bytes{};  // of one rank, by class
  std::int64_t total() const;
};

/// What the layout adds to the configuration, for one stage.
struct MemoryLayout {
  int stage = 0;
  int data = 1;                     // d
  std::vector<int> slots;           // microbatches alive at most in each chunk of the stage
  std::int64_t exchange_bytes = 0;  // a communicator's scratch at most
};

/// Pure. Every tensor and data rank of the stage takes the same: fp32 weights, gradients and two moments, nothing recomputed.
/// Snapshot is what a checkpoint is written from while training goes on: the most that a rank of the stage stores.
/// Communication is the scratch of the reductions of the tensor, data, model and tied groups; the MPI library's own memory and
/// the program's are not in it.
StageMemory stage_memory(const config::Config& config, const StageMap& map, const MemoryLayout& layout);

/// Bytes of a checkpoint of the whole model: weights and two moments, fp32, without padding.
std::int64_t checkpoint_bytes(const config::Model& model);

}  // namespace trireme::spec
