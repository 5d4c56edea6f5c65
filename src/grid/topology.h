// Where each rank runs: the start block's table, topology.tsv, and which groups stay inside a node.
#pragma once

#include <string>
#include <vector>

#include "grid/grid.h"

namespace trireme::grid {

struct Place {
  int rank = 0;
  std::string host;
  int node = 0;  // lowest rank on it
  int node_rank = 0, node_size = 1;
  std::string cores;   // allowed ones, compact
  std::string device;  // its name
  Coordinates at;
  int process = 0;  // its id on the host
};

/// Every rank: the places in rank order on rank 0, nothing elsewhere.
std::vector<Place> gather_places(World& world, const Shape& shape, const std::string& device);

/// Text of topology.tsv: a header and a row a rank.
std::string topology_tsv(const std::vector<Place>& places);

/// The start block's table: a line a rank, above 64 ranks a line a node.
std::string topology_table(const std::vector<Place>& places);

/// "tensor groups inside a node: 8/8", and the same for data and pipeline groups, a line each. Groups of one rank do not count.
std::string group_report(const std::vector<Place>& places, const Shape& shape);

/// Throws base::Error naming placement.strict, the first tensor group that spans nodes, and the cure.
void refuse_split_tensor_groups(const std::vector<Place>& places, const Shape& shape);

}  // namespace trireme::grid
