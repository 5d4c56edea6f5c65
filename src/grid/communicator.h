// A group of ranks that exchange data, with the semantics of NCCL: stream-ordered, equal counts on all members, no tags,
// point-to-point transfers in groups. Collectives are called by every member, in the same order.
//
// Calls return a ticket at once. Work that is given to the device later may touch the data after order_after(ticket), the host
// after wait(ticket). Work on one communicator runs in the order of the calls; different communicators progress independently,
// also while a rank waits for another of them.
#pragma once

#include <cstdint>

#include "grid/traffic.h"
#include "kernels/device.h"

namespace trireme::grid {

enum class Reduce { sum, maximum };

/// Names a call of one communicator: done when `value` calls are done. 0 is done from the start.
struct Ticket {
  std::uint64_t value = 0;
};

class Communicator {
 public:
  virtual ~Communicator() = default;

  int size() const { return size_; }
  int rank() const { return rank_; }

  /// In place. Sums run in rank order, whatever the size of the message. fp32, fp64, int64.
  virtual Ticket all_reduce(kernels::View data, Reduce op, Traffic kind) = 0;
  /// in.count = size * out.count; member r gets the sum of piece r, added in rank order.
  virtual Ticket reduce_scatter(kernels::View in, kernels::View out, Traffic kind) = 0;
  /// out.count = size * in.count; `in` may be this member's piece of `out`.
  virtual Ticket all_gather(kernels::View in, kernels::View out, Traffic kind) = 0;
  virtual Ticket broadcast(kernels::View data, int root, Traffic kind) = 0;

  /// Between begin_group and end_group only. Transfers between two members match in the order of the calls.
  virtual void begin_group() = 0;
  virtual void send(kernels::View data, int peer, Traffic kind) = 0;
  virtual void receive(kernels::View data, int peer, Traffic kind) = 0;
  /// Ticket of all transfers of the group.
  virtual Ticket end_group() = 0;

  /// What is given to the device from here on starts when the call is done on this rank; the host goes on. Where the device is
  /// the host itself that is a wait.
  virtual void order_after(Ticket ticket) = 0;
  /// Returns when the call is done on this rank. The time spent here is counted by the kind of the call.
  virtual void wait(Ticket ticket) = 0;
  virtual bool done(Ticket ticket) = 0;

 protected:
  Communicator(int rank, int size) : rank_(rank), size_(size) {}

 private:
  int rank_, size_;
};

}  // namespace trireme::grid
