// A group of ranks that exchange data, with the semantics of NCCL: stream-ordered, equal counts on all members, no tags,
// point-to-point transfers in groups. Collectives are called by every member, in the same order.
//
// Calls return a ticket at once. They work on what the device's work given before them makes. Work that is given to the device
// later may touch the data after order_after(ticket), the host after wait(ticket). Work on one communicator runs in the order of
// the calls; different communicators progress independently, also while a rank waits for another of them. But where the data is
// in a GPU's memory (NCCL), all ranks make the calls of all communicators that they share in one order.
//
// Forms: `mpi` for host memory; `staged` for device memory by way of pinned memory and MPI; `nccl` for device memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grid/activity.h"
#include "grid/call.h"
#include "grid/progress.h"
#include "kernels/device.h"

namespace trireme::grid {

/// Names a call of one communicator. {} is done from the start.
struct Ticket {
  std::uint64_t value = 0;         // done when `value` calls are done
  std::uint32_t communicator = 0;  // which one gave it
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int size() const { return members_.size; }
  int rank() const { return members_.rank; }

  /// In place. fp32, fp64, int32, int64; bf16 and fp16 too. `mpi` and `staged` add in rank order, whatever the size of the
  /// message, 2-byte types in fp32 arithmetic, rounded once. NCCL fixes no order, and rounds 2-byte types after every addition.
  /// All members get the same bits. Gradients are summed in fp32; only activations of tensor groups are summed in 2 bytes.
  Ticket all_reduce(kernels::View data, Reduce op, Traffic kind);
  /// in.count = size * out.count; member r gets the sum of piece r, added as above.
  Ticket reduce_scatter(kernels::View in, kernels::View out, Traffic kind);
  /// out.count = size * in.count; `in` may be this member's piece of `out`.
  Ticket all_gather(kernels::View in, kernels::View out, Traffic kind);
  Ticket broadcast(kernels::View data, int root, Traffic kind);

  /// Between begin_group and end_group only. Transfers between two members match in the order of the calls. Nothing happens
  /// before end_group.
  void begin_group();
  void send(kernels::View data, int peer, Traffic kind);
  void receive(kernels::View data, int peer, Traffic kind);
  /// Ticket of all transfers of the group.
  Ticket end_group();

  /// What is given to the device from here on starts when the call is done on this rank. With NCCL the host goes on; where the
  /// host carries the data (`mpi`, `staged`) it waits for the others.
  void order_after(Ticket ticket);
  /// Returns when the call is done on this rank. The time spent here is counted by the kind of the call.
  void wait(Ticket ticket);
  bool done(Ticket ticket);

 protected:
  struct Members {
    int rank = 0, size = 1;
    std::vector<int> world_ranks;  // by member
  };
  /// The others outlive this. Bytes, calls and waits are told to `activity`; a group of one counts nothing.
  Communicator(Members members, Progress& progress, Activity& activity);
  /// The same members, progress and activity as `other` has.
  explicit Communicator(const Communicator* other);

  /// A collective, or the transfers of a group: the `number`-th call, from 1. Never with a group of one.
  virtual void start(std::span<const Call> calls, std::uint64_t number) = 0;
  /// What a reduce_scatter or an all_gather does in a group of one.
  virtual void copy(kernels::View to, kernels::View from) = 0;
  /// Whether call `number` is done; polls.
  virtual bool finished(std::uint64_t number) = 0;
  /// See order_after, for a call that is not done.
  virtual void order_device_after(std::uint64_t number) = 0;
  /// One of those of `number`, which is not done.
  virtual const Call& call_of(std::uint64_t number) const = 0;

  /// Polls until `done()`, and counts the time as one of waiting for call `number`, which is not done.
  template <class Done>
  void wait_counted(std::uint64_t number, Done&& done);
  Progress& progress() { return progress_; }
  const std::vector<int>& world_ranks() const { return members_.world_ranks; }

 private:
  Ticket start_counted(std::span<const Call> calls);
  Ticket collective(const Call& call);
  void transfer(const Call& call);
  void check(Ticket ticket) const;
  Subject peer_of(const Call& call) const;

  Members members_;
  Progress& progress_;
  Activity& activity_;
  std::uint32_t identity_;    // of all communicators of this process
  std::uint64_t issued_ = 0;  // calls
  bool grouping_ = false;
  std::vector<Call> group_;
};

template <class Done>
void Communicator::wait_counted(std::uint64_t number, Done&& done) {
  const Call& call = call_of(number);
  activity_.begin(kind_of(call.traffic), peer_of(call), call.bytes());
  progress_.wait_until(done);
  activity_.end();
}

}  // namespace trireme::grid
