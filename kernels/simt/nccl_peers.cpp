#include "kernels/simt/nccl_peers.h"

#include <cstring>
#include <list>
#include <utility>

#include <sched.h>

#include "kernels/simt/engine.h"
#include "kernels/simt/nccl.h"

namespace trireme::simt::nccl {
namespace {

struct Sent {
  Words words;
  MPI_Request request = MPI_REQUEST_NULL;
};

std::list<Sent>& sent() {
  static std::list<Sent> instance;
  return instance;
}

void forget_what_arrived() {
  sent().remove_if([](Sent& s) {
    int done = 0;
    MPI_Test(&s.request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  });
}

/// Receives what `peer` sent, if there is anything, and returns its tag; else any other number.
int drop_from(int peer) {
  int there = 0, bytes = 0;
  MPI_Message message;
  MPI_Status status;
  MPI_Improbe(peer, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &message, &status);
  forget_what_arrived();
  if (!there) return sched_yield();
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  std::vector<char> dropped(static_cast<std::size_t>(bytes));
  MPI_Mrecv(dropped.data(), bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
  return status.MPI_TAG;
}

Words words_of(const std::string& text) {
  Words words(text.size() / sizeof(std::int64_t) + 1);
  std::memcpy(words.data(), text.data(), text.size());
  return words;
}

std::string text_of(const Words& words) {
  std::string text(words.size() * sizeof(std::int64_t), '\0');
  std::memcpy(text.data(), words.data(), text.size());
  return text.c_str();
}

}  // namespace

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

void send_words(int peer, int tag, Words words) {
  Sent& message = sent().emplace_back();
  message.words = std::move(words);
  MPI_Isend(message.words.data(), static_cast<int>(message.words.size()), MPI_INT64_T, peer, tag, MPI_COMM_WORLD,
            &message.request);
}

std::optional<Received> take_words(int peer, int tag) {
  forget_what_arrived();
  int there = 0, count = 0;
  MPI_Message message;
  MPI_Status status;
  MPI_Improbe(peer, tag, MPI_COMM_WORLD, &there, &message, &status);
  if (!there) return std::nullopt;
  MPI_Get_count(&status, MPI_INT64_T, &count);
  Received received{status.MPI_SOURCE, Words(static_cast<std::size_t>(count))};
  MPI_Mrecv(received.words.data(), count, MPI_INT64_T, &message, MPI_STATUS_IGNORE);
  return received;
}

std::string& found_fault() {
  static std::string instance;
  return instance;
}

void fault(const std::string& text) {
  found_fault() = text;
  for (int peer = 0; peer < world_size(); ++peer)
    if (peer != world_rank()) send_words(peer, fault_tag, words_of(text));
  throw Error(text);
}

void look_for_faults() {
  if (const auto received = take_words(MPI_ANY_SOURCE, fault_tag); received && found_fault().empty())
    found_fault() = text_of(received->words);
  if (!found_fault().empty()) throw Error(found_fault());
}

// Whatever the tag, messages of one rank are seen in the order in which they were sent: what stands before its mark is old.
void drain(const std::function<bool()>& data_sent) {
  for (int peer = 0; peer < world_size(); ++peer)
    if (peer != world_rank()) send_words(peer, end_tag, {0});
  for (int peer = 0; peer < world_size(); ++peer)
    for (int tag = peer == world_rank() ? end_tag : 0; tag != end_tag;) tag = drop_from(peer);
  for (; !sent().empty() || !data_sent(); sched_yield()) forget_what_arrived();
  found_fault().clear();
}

void Patience::check(const std::function<std::string()>& what) const {
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin_;
  if (waited.count() > nccl_options().patience) fault("NCCL: rank " + std::to_string(world_rank()) + " waits in vain: " + what());
}

}  // namespace trireme::simt::nccl
