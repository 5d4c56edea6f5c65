// Kinds of communication, the words of summary.json and of traces.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace trireme::grid {

enum class Traffic {
  tp_all_reduce,
  tp_reduce_scatter,
  tp_all_gather,
  pp_activation,
  pp_gradient,
  dp_all_reduce,
  dp_reduce_scatter,
  dp_all_gather,
  tied_embedding,
  control,  // start check, losses, norms, agreement
};

inline constexpr std::array<std::string_view, 10> traffic_names = {
    "tp_all_reduce", "tp_reduce_scatter", "tp_all_gather", "pp_activation",  "pp_gradient",
    "dp_all_reduce", "dp_reduce_scatter", "dp_all_gather", "tied_embedding", "control"};

struct TrafficCount {
  std::int64_t calls = 0;
  std::int64_t bytes = 0;  // sent by this rank
};

/// One rank's counts, by kind.
struct TrafficTable {
  std::array<TrafficCount, traffic_names.size()> kinds{};
  TrafficCount& operator[](Traffic kind) { return kinds[static_cast<std::size_t>(kind)]; }
  const TrafficCount& operator[](Traffic kind) const { return kinds[static_cast<std::size_t>(kind)]; }
};

}  // namespace trireme::grid
