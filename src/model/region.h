// The tensor-parallel region, in which every tensor rank works on its columns, heads or rows of the vocabulary: how activations
// and their gradients go in and come out. The operators f and g of section 2.3 of arXiv 2104.04473.
#pragma once

#include "grid/communicator.h"

namespace trireme::model {

using kernels::View;

/// Outside of the region all tensor ranks hold the same. Every tensor rank of the stage makes the same calls, in one order. A
/// group of one sends nothing.
class Region {
 public:
  explicit Region(grid::Communicator& tensor) : tensor_(&tensor) {}

  bool split() const { return tensor_->size() > 1; }
  bool first() const { return tensor_->rank() == 0; }

  /// f: x as the ranks of the region read it.
  View enter(View x) const { return x; }
  /// f's backward pass: each rank has formed its part of dx. Their sum is under way until `finish` returns it; it takes the
  /// place of dx.
  struct Sum {
    View dx;
    grid::Ticket ticket;
  };
  [[nodiscard]] Sum enter_backward(View dx) const;
  View finish(const Sum& sum) const;

  /// g: each rank has formed its part of y. Returns their sum, which takes the place of y.
  View leave(View y) const;
  /// g's backward pass: dy as the ranks of the region read it.
  View leave_backward(View dy) const { return dy; }

  /// Statistics of rows over all ranks, in place, done before the next kernel: of logits, say, over the whole vocabulary.
  void combine(View statistics, grid::Reduce how) const;

 private:
  grid::Communicator* tensor_;
};

}  // namespace trireme::model
