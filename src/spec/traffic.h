// Bytes that a training step sends, by kind (sections 2.2, 2.3 and 3.2 of arXiv 2104.04473).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "spec/local_table.h"

namespace trireme::spec {

/// Sent by one rank in one step, bytes; the members are named as in summary.json. Without what keeps the ranks together
/// (losses, norms, agreement).
struct StageTraffic {
  std::int64_t tp_all_reduce = 0;   // activations and their gradients, losses
  std::int64_t pp_activation = 0;   // to the next model chunk
  std::int64_t pp_gradient = 0;     // to the one before
  std::int64_t dp_all_reduce = 0;   // gradients
  std::int64_t tied_embedding = 0;  // between first and last stage

  /// All members with their names.
  std::array<std::pair<std::string_view, std::int64_t>, 5> kinds() const;
};

/// Pure; d data ranks. An all-reduce of n elements over k ranks sends n - own + (k - 1) own, own being this rank's piece of the
/// result: 2 n (k-1)/k where k divides n. Else pieces differ by one element, and this is the rank with the longest ones (tensor
/// and data coordinate 0).
StageTraffic stage_traffic(const config::Config& config, const StageMap& map, int stage, int data);

}  // namespace trireme::spec
