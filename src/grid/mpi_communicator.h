// Communicator over host memory, by MPI. Calls queue up, and the head of the queue is in flight; the others wait for it, as on a
// stream. Reductions exchange pieces and add them in rank order, so that results depend neither on the message's size nor on the
// library. Scratch grows at first use to at most exchange_scratch_limit; longer reductions run in several rounds.
#pragma once

#include <memory>
#include <vector>

#include <mpi.h>

#include "grid/communicator.h"

namespace trireme::grid {

class MpiCommunicator final : public Communicator, private Pollable {
 public:
  /// Owns `comm` from here on; MPI_COMM_NULL is a group of this rank alone, which makes no MPI call.
  MpiCommunicator(MPI_Comm comm, Progress& progress, Activity& activity);
  ~MpiCommunicator() override;

  /// Every member: another one of the same members, whose calls are in no order with those of this.
  std::unique_ptr<MpiCommunicator> duplicate(Activity& activity);

  std::int64_t scratch_bytes() const { return static_cast<std::int64_t>(scratch_.size()); }
  static constexpr std::size_t usual_calls = 64;                           // in flight at most, before a queue grows
  static constexpr std::int64_t transfer_limit = std::int64_t{256} << 20;  // bytes of one MPI message

 private:
  using Kind = Call::Kind;
  /// Transfers of one group follow each other and have one number.
  struct Operation : Call {
    std::uint64_t number = 0;
    std::uint64_t collective = 0;  // counts collectives, equal on all members
  };

  void start(std::span<const Call> calls, std::uint64_t number) override;
  void copy(kernels::View to, kernels::View from) override;
  bool finished(std::uint64_t number) override;
  void order_device_after(std::uint64_t number) override;
  const Call& call_of(std::uint64_t number) const override;

  void push(const Operation& operation);
  void poll() override;
  bool all_arrived();
  bool start_step();
  void finish_step();
  void retire();

  bool start_exchange(const Operation& head);
  void finish_exchange(const Operation& head);
  void start_gather(const Operation& head, const std::byte* mine);
  void start_broadcast(const Operation& head);
  void start_group();
  void post_send(const std::byte* data, std::int64_t bytes, int peer, int tag);
  void post_receive(std::byte* data, std::int64_t bytes, int peer, int tag);

  std::int64_t round_elements(const kernels::View& whole) const;
  int tag_of(const Operation& head, int phase) const;

  MPI_Comm comm_;
  int tags_ = 0;  // an even number of tags for collectives: 1 .. tags_; transfers of groups have tag 0

  std::vector<Operation> queue_;  // [head_, end): not yet done
  std::size_t head_ = 0;
  std::uint64_t completed_ = 0, collectives_ = 0;

  std::int64_t step_ = 0;  // of the head: rounds of an exchange, then the gather
  bool in_flight_ = false;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  std::vector<std::byte> scratch_;    // [size - 1, round_elements]
  std::vector<const void*> sources_;  // by member
};

}  // namespace trireme::grid
