// What carries activations and their gradients from one stage to another one.
#pragma once

#include "grid/communicator.h"

namespace trireme::train {

/// A transfer under way. Settled before its buffer is written (a send) or read (a receive).
class InFlight {
 public:
  InFlight() = default;
  InFlight(grid::Communicator& channel, grid::Ticket ticket) : channel_(&channel), ticket_(ticket) {}
  /// What the device is given from here on starts when the transfer, if there is one, is done; from then on there is none.
  void settle();

 private:
  grid::Communicator* channel_ = nullptr;
  grid::Ticket ticket_;
};

/// One end of a channel of the grid: this stage either sends or receives, first in first out. Both ends call with equal counts.
class Link {
 public:
  /// `kind`: pp_activation or pp_gradient.
  Link(grid::Communicator& channel, grid::Traffic kind) : channel_(&channel), kind_(kind) {}
  /// Post the transfer and return.
  InFlight send(kernels::View data) const;
  InFlight receive(kernels::View data) const;

 private:
  grid::Communicator* channel_;
  grid::Traffic kind_;
};

}  // namespace trireme::train
