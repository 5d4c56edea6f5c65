// What a call, or the transfers of a group, go through: announced to the members that take part, heard from all of them, started
// when the stream is there, finished when everything has come.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/simt/nccl.h"
#include "kernels/simt/nccl_peers.h"

struct ncclComm {
  int number;              // of all communicators, equal on all members
  int rank;                // of this member
  std::vector<int> world;  // rank in the world, by member
  bool aborted = false;
  int size() const { return static_cast<int>(world.size()); }
};

namespace trireme::simt::nccl {

enum class Kind : std::int64_t { all_reduce, reduce_scatter, all_gather, broadcast, send, receive, destroy, group };

struct Request {
  Kind kind = Kind::destroy;
  const void* in = nullptr;
  void* out = nullptr;
  std::int64_t count = 0;
  ncclDataType_t type = ncclFloat32;
  int other = 0;  // operation of a reduction, root of a broadcast, the other end of a transfer
};

class Launch {
 public:
  /// One collective, or transfers.
  Launch(ncclComm& comm, std::vector<Request> requests);

  /// Tells those who take part, and listens to them: whether all were heard. A fault when one of them does something else. Called
  /// when all earlier ones of this rank were heard, so that orders that differ come to a stop.
  bool match();
  /// For give_attempts.
  bool attempt();

  const ncclComm& comm() const { return comm_; }
  bool finished() const { return finished_; }
  /// Ends the receives that nobody has answered.
  void cancel();
  bool all_sent();

 private:
  using Bytes = std::vector<std::byte>;
  struct Span {
    std::byte* data;
    std::size_t bytes;
  };

  bool takes_part(int member) const;
  void announce();
  void start();
  void start_collective();
  void start_transfers();
  void finish();
  void finish_collective();
  void post_send(const std::byte* data, std::size_t bytes, int member);
  void post_receive(Bytes& data, std::size_t bytes, int member);
  void guard();
  void check_guarded() const;
  void reduce();
  std::string name() const;

  ncclComm& comm_;
  std::vector<Request> requests_;
  std::vector<bool> heard_;  // by member
  bool announced_ = false, matched_ = false, started_ = false, finished_ = false;
  Patience patience_;
  std::vector<Bytes> given_;    // inputs as they were at the start, by request
  std::vector<Bytes> arrived_;  // by member, or by request of a group
  std::vector<Span> inputs_, outputs_;
  std::vector<Bytes> guarded_;  // inputs, then outputs: what must stand there until the end
  std::vector<MPI_Request> sends_, receives_;
};

}  // namespace trireme::simt::nccl
