// How the processes of NCCL's stand-in speak to each other: short messages, faults that all of them learn, and patience.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <mpi.h>

namespace trireme::simt::nccl {

using Words = std::vector<std::int64_t>;

/// Of MPI's messages. What members exchange once they know each other has tags of their communicator's number.
enum Tag : int { call_tag = 30000, fault_tag = 30001, end_tag = 30002, first_member_tag = 40000, first_data_tag = 100000 };

int world_rank();
int world_size();

/// Returns at once. Messages of one tag between two ranks arrive in order.
void send_words(int peer, int tag, Words words);
struct Received {
  int from;
  Words words;
};
/// The next one, if it is there. `peer` may be MPI_ANY_SOURCE.
std::optional<Received> take_words(int peer, int tag);

/// Tells all ranks, and throws Error.
[[noreturn]] void fault(const std::string& text);
/// Throws the fault that was found here or elsewhere, if any.
void look_for_faults();
/// As of nccl_fault().
std::string& found_fault();

/// All ranks, with no receive posted: drops all messages under way, and the fault. `data_sent()`: whether what this rank sent of
/// its data has been received.
void drain(const std::function<bool()>& data_sent);

/// Of somebody who waits for others.
class Patience {
 public:
  /// A fault with these words when it has been too long.
  void check(const std::function<std::string()>& what) const;

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace trireme::simt::nccl
