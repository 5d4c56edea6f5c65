// Communicator over host memory, by MPI. Calls queue up, and the head of the queue is in flight; the others wait for it, as on a
// stream. Reductions exchange pieces and add them in rank order, so that results depend neither on the message's size nor on the
// library. Scratch grows at first use to at most exchange_scratch_limit; longer reductions run in several rounds.
#pragma once

#include <vector>

#include <mpi.h>

#include "grid/activity.h"
#include "grid/communicator.h"
#include "grid/progress.h"

namespace trireme::grid {

class MpiCommunicator final : public Communicator, private Pollable {
 public:
  /// Owns `comm` from here on; MPI_COMM_NULL is a group of this rank alone. The others outlive this. Bytes, calls and waits are
  /// told to `activity`; a group of one makes no MPI call and counts nothing.
  MpiCommunicator(MPI_Comm comm, Progress& progress, Activity& activity);
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  Ticket all_reduce(kernels::View data, Reduce op, Traffic kind) override;
  Ticket reduce_scatter(kernels::View in, kernels::View out, Traffic kind) override;
  Ticket all_gather(kernels::View in, kernels::View out, Traffic kind) override;
  Ticket broadcast(kernels::View data, int root, Traffic kind) override;
  void begin_group() override;
  void send(kernels::View data, int peer, Traffic kind) override;
  void receive(kernels::View data, int peer, Traffic kind) override;
  Ticket end_group() override;
  void order_after(Ticket ticket) override { wait(ticket); }
  void wait(Ticket ticket) override;
  bool done(Ticket ticket) override;

  std::int64_t scratch_bytes() const { return static_cast<std::int64_t>(scratch_.size()); }
  static constexpr std::size_t usual_calls = 64;                           // in flight at most, before a queue grows
  static constexpr std::int64_t transfer_limit = std::int64_t{256} << 20;  // bytes of one MPI message

 private:
  enum class Kind { all_reduce, reduce_scatter, all_gather, broadcast, send, receive };
  /// A collective, or one transfer of a group; transfers of one group follow each other and have one ticket.
  struct Operation {
    Kind kind;
    kernels::View in, out;
    int peer = 0;  // root, or the other end
    Reduce op = Reduce::sum;
    Traffic traffic = Traffic::control;
    std::uint64_t ticket = 0;      // counts calls, of this rank
    std::uint64_t collective = 0;  // counts collectives, equal on all members
  };

  Ticket enqueue(Operation operation);
  void enqueue_transfer(Operation operation);
  void push(Operation operation);

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
  void post_send(const std::byte* data, std::int64_t bytes, int peer, int tag, Traffic kind);
  void post_receive(std::byte* data, std::int64_t bytes, int peer, int tag);

  std::int64_t round_elements(const kernels::View& whole) const;
  int tag_of(const Operation& head, int phase) const;

  MPI_Comm comm_;
  Progress& progress_;
  Activity& activity_;
  std::vector<int> world_ranks_;  // of the members
  int tags_ = 0;                  // an even number of tags for collectives: 1 .. tags_; transfers of groups have tag 0

  std::vector<Operation> queue_;  // [head_, end): not yet done
  std::size_t head_ = 0;
  std::uint64_t issued_ = 0, completed_ = 0, collectives_ = 0;
  bool grouping_ = false;

  std::int64_t step_ = 0;  // of the head: rounds of an exchange, then the gather
  bool in_flight_ = false;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  std::vector<std::byte> scratch_;    // [size - 1, round_elements]
  std::vector<const void*> sources_;  // by member
};

}  // namespace trireme::grid
