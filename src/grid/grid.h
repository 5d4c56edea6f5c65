// The process grid: tensor x data x pipeline, and a communicator for each group of it.
//
// World rank = tensor + t (data + d pipeline): tensor ranks are neighbours, pipeline stages lie furthest apart.
// For (p, t, d) = (2, 2, 2), stage 0 sending to stage 1 over channel 0:
//
//   rank  tensor data pipeline | tensor  data    pipeline  model        tied pair  channel 0
//      0       0    0        0 | 0 1     0 2     0 4       0 1 4 5      0 4        0 4
//      1       1    0        0 | 0 1     1 3     1 5       0 1 4 5      1 5        1 5
//      2       0    1        0 | 2 3     0 2     2 6       2 3 6 7      2 6        2 6
//      3       1    1        0 | 2 3     1 3     3 7       2 3 6 7      3 7        3 7
//      4       0    0        1 | 4 5     4 6     0 4       0 1 4 5      0 4        0 4
//      5       1    0        1 | 4 5     5 7     1 5       0 1 4 5      1 5        1 5
//      6       0    1        1 | 6 7     4 6     2 6       2 3 6 7      2 6        2 6
//      7       1    1        1 | 6 7     5 7     3 7       2 3 6 7      3 7        3 7
#pragma once

#include <vector>

#include "grid/group.h"
#include "grid/shape.h"
#include "grid/world.h"

namespace trireme::grid {

class Grid {
 public:
  /// Every rank, with equal arguments. Makes all communicators in one fixed order and uses those of MPI once, so that no
  /// connection is set up later; `device` makes those for device memory, see Group. Throws std::logic_error if the shape does not
  /// have world.size() ranks or a channel's stages are not two of it.
  Grid(World& world, const Shape& shape, const std::vector<ChannelSpec>& channels, const DeviceCommunicator& device = {});

  const Shape& shape() const { return shape_; }
  const Coordinates& at() const { return at_; }
  World& world() { return world_; }

  /// Member = tensor coordinate; data coordinate; stage.
  Communicator& tensor() { return tensor_.device(); }
  Communicator& data() { return data_.device(); }
  Communicator& pipeline() { return pipeline_.device(); }
  /// All ranks of one data coordinate. Member = tensor + t stage.
  Communicator& model() { return model_.device(); }
  /// The same groups for host data.
  Control tensor_control() { return tensor_.control(); }
  Control data_control() { return data_.control(); }
  Control model_control() { return model_.control(); }
  Control tied_control() { return member_of_tied().control(); }
  /// First stage (member 0) and last stage (member 1) of one pipeline. Only these have it, and only if p > 1.
  Communicator& tied() { return member_of_tied().device(); }
  bool has_tied() const { return static_cast<bool>(tied_); }
  /// Sender (member 0) and receiver (member 1) of channel `i` of the list given. Only these stages have it.
  Communicator& channel(std::size_t i);

 private:
  Group& member_of_tied();

  World& world_;
  Shape shape_;
  Coordinates at_;
  Group tensor_, pipeline_, data_, model_, tied_;
  std::vector<Group> channels_;  // empty where this stage is no end
};

}  // namespace trireme::grid
