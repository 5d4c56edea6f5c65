#include "grid/mpi_communicator.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "grid/mpi_check.h"
#include "grid/pieces.h"
#include "grid/reduction.h"
#include "grid/shape.h"

namespace trireme::grid {
namespace {

using kernels::View;

int rank_in(MPI_Comm comm) {
  int rank = 0;
  if (comm != MPI_COMM_NULL) TRIREME_MPI(MPI_Comm_rank(comm, &rank));
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 1;
  if (comm != MPI_COMM_NULL) TRIREME_MPI(MPI_Comm_size(comm, &size));
  return size;
}

std::vector<int> world_ranks_of(MPI_Comm comm, int size) {
  if (comm == MPI_COMM_NULL) return {};
  MPI_Group all, group;
  TRIREME_MPI(MPI_Comm_group(MPI_COMM_WORLD, &all));
  TRIREME_MPI(MPI_Comm_group(comm, &group));
  std::vector<int> members(static_cast<std::size_t>(size)), ranks(members.size());
  std::iota(members.begin(), members.end(), 0);
  TRIREME_MPI(MPI_Group_translate_ranks(group, size, members.data(), all, ranks.data()));
  TRIREME_MPI(MPI_Group_free(&group));
  TRIREME_MPI(MPI_Group_free(&all));
  return ranks;
}

std::byte* at(View view, std::int64_t element) {
  return static_cast<std::byte*>(view.data) + element * kernels::bytes_of(view.type);
}

}  // namespace

MpiCommunicator::MpiCommunicator(MPI_Comm comm, Progress& progress, Activity& activity)
    : Communicator({rank_in(comm), size_of(comm), world_ranks_of(comm, size_of(comm))}, progress, activity), comm_(comm) {
  if (comm_ == MPI_COMM_NULL) return;
  int* limit = nullptr;
  int found = 0;
  TRIREME_MPI(MPI_Comm_get_attr(comm_, MPI_TAG_UB, &limit, &found));
  tags_ = found ? *limit & ~1 : 32766;
  queue_.reserve(usual_calls);
  requests_.reserve(usual_calls);
  statuses_.reserve(usual_calls);
  progress.add(*this);
}

MpiCommunicator::~MpiCommunicator() {
  progress().remove(*this);  // does nothing for a group of one, which never registered
  if (comm_ != MPI_COMM_NULL) TRIREME_MPI(MPI_Comm_free(&comm_));
}

std::unique_ptr<MpiCommunicator> MpiCommunicator::duplicate(Activity& activity) {
  MPI_Comm another = MPI_COMM_NULL;
  if (comm_ != MPI_COMM_NULL) TRIREME_MPI(MPI_Comm_dup(comm_, &another));
  return std::make_unique<MpiCommunicator>(another, progress(), activity);
}

// ---- calls

void MpiCommunicator::start(std::span<const Call> calls, std::uint64_t number) {
  const bool collective = !calls.front().is_transfer();
  for (const Call& call : calls) push({call, number, collective ? collectives_ : 0});
  if (collective) ++collectives_;
  poll();
}

void MpiCommunicator::push(const Operation& operation) {
  if (head_ == queue_.size()) {
    queue_.clear();
    head_ = 0;
  }
  if (queue_.size() == queue_.capacity() && head_ > 0) {  // never empty, perhaps: what is done makes room
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }
  queue_.push_back(operation);
}

void MpiCommunicator::copy(View to, View from) { std::memcpy(to.data, from.data, static_cast<std::size_t>(from.bytes())); }

bool MpiCommunicator::finished(std::uint64_t number) {
  if (completed_ < number) poll();
  return completed_ >= number;
}

void MpiCommunicator::order_device_after(std::uint64_t number) {
  wait_counted(number, [&] { return completed_ >= number; });
}

const Call& MpiCommunicator::call_of(std::uint64_t number) const {
  return *std::find_if(queue_.begin() + static_cast<std::ptrdiff_t>(head_), queue_.end(),
                       [&](const Operation& o) { return o.number == number; });
}

// ---- progress

void MpiCommunicator::poll() {
  while (head_ < queue_.size()) {
    if (in_flight_) {
      if (!all_arrived()) return;
      finish_step();
      in_flight_ = false;
      ++step_;
    }
    if (start_step())
      in_flight_ = true;
    else
      retire();
  }
}

bool MpiCommunicator::all_arrived() {
  statuses_.resize(requests_.size());
  int flag = 0;
  const int error = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &flag, statuses_.data());
  if (error == MPI_ERR_IN_STATUS)
    for (const MPI_Status& status : statuses_)
      if (status.MPI_ERROR != MPI_ERR_PENDING) TRIREME_MPI(status.MPI_ERROR);
  TRIREME_MPI(error);
  if (flag) requests_.clear();
  return flag != 0;
}

/// Posts the next step of the head; false when it has none left.
bool MpiCommunicator::start_step() {
  const Operation& head = queue_[head_];
  switch (head.kind) {
    case Kind::reduce_scatter:
      return start_exchange(head);
    case Kind::all_reduce: {
      if (start_exchange(head)) return true;
      const std::int64_t longest = piece_of(head.in.count, size(), 0).count, round = round_elements(head.in);
      if (step_ > (longest + round - 1) / round) return false;
      start_gather(head, at(head.out, piece_of(head.out.count, size(), rank()).first));
      return true;
    }
    default:
      break;
  }
  if (step_ > 0) return false;
  if (head.kind == Kind::all_gather)
    start_gather(head, at(head.in, 0));
  else if (head.kind == Kind::broadcast)
    start_broadcast(head);
  else
    start_group();
  return true;
}

void MpiCommunicator::finish_step() {
  const Operation& head = queue_[head_];
  if (head.kind == Kind::reduce_scatter || head.kind == Kind::all_reduce) finish_exchange(head);
}

void MpiCommunicator::retire() {
  completed_ = queue_[head_].number;
  while (head_ < queue_.size() && queue_[head_].number == completed_) ++head_;
  step_ = 0;
}

// ---- steps

/// Elements of a piece exchanged at once, so that what the other members send fits the scratch.
std::int64_t MpiCommunicator::round_elements(const View& whole) const {
  const std::int64_t limit = exchange_scratch_limit / ((size() - 1) * kernels::bytes_of(whole.type));
  return std::max<std::int64_t>(1, std::min(limit, piece_of(whole.count, size(), 0).count));
}

/// Sends every member its piece of `in`, and receives this member's piece from all. Step k exchanges the k-th part of each piece.
bool MpiCommunicator::start_exchange(const Operation& head) {
  const std::int64_t elements = round_elements(head.in), size_bytes = kernels::bytes_of(head.in.type);
  if (step_ * elements >= piece_of(head.in.count, size(), 0).count) return false;
  scratch_.resize(std::max(scratch_.size(), static_cast<std::size_t>((size() - 1) * elements * size_bytes)));
  const Piece mine = round_of(piece_of(head.in.count, size(), rank()), step_, elements);
  for (int i = 1; i < size(); ++i) {
    const int from = (rank() + size() - i) % size(), slot = from < rank() ? from : from - 1;
    post_receive(scratch_.data() + slot * elements * size_bytes, mine.count * size_bytes, from, tag_of(head, 0));
  }
  for (int i = 1; i < size(); ++i) {
    const int to = (rank() + i) % size();
    const Piece piece = round_of(piece_of(head.in.count, size(), to), step_, elements);
    post_send(at(head.in, piece.first), piece.count * size_bytes, to, tag_of(head, 0));
  }
  return true;
}

void MpiCommunicator::finish_exchange(const Operation& head) {
  const std::int64_t elements = round_elements(head.in);
  const Piece piece = piece_of(head.in.count, size(), rank());
  if (step_ * elements >= piece_of(head.in.count, size(), 0).count) return;  // that was the gather
  const Piece mine = round_of(piece, step_, elements);
  sources_.clear();
  for (int member = 0; member < size(); ++member) {
    const int slot = member < rank() ? member : member - 1;
    sources_.push_back(member == rank() ? at(head.in, mine.first)
                                        : scratch_.data() + slot * elements * kernels::bytes_of(head.in.type));
  }
  // reduce_scatter writes to a span that holds this member's piece only
  const std::int64_t first = head.kind == Kind::reduce_scatter ? mine.first - piece.first : mine.first;
  reduce_in_order({at(head.out, first), mine.count, head.out.type}, sources_, head.op);
}

/// Sends this member's piece, at `mine`, to all, and receives theirs into `out`.
void MpiCommunicator::start_gather(const Operation& head, const std::byte* mine) {
  const std::int64_t size_bytes = kernels::bytes_of(head.out.type);
  const Piece own = piece_of(head.out.count, size(), rank());
  if (mine != at(head.out, own.first) && own.count > 0)
    std::memcpy(at(head.out, own.first), mine, static_cast<std::size_t>(own.count * size_bytes));
  for (int i = 1; i < size(); ++i) {
    const int from = (rank() + size() - i) % size();
    const Piece piece = piece_of(head.out.count, size(), from);
    post_receive(at(head.out, piece.first), piece.count * size_bytes, from, tag_of(head, 1));
  }
  for (int i = 1; i < size(); ++i) post_send(mine, own.count * size_bytes, (rank() + i) % size(), tag_of(head, 1));
}

void MpiCommunicator::start_broadcast(const Operation& head) {
  if (rank() != head.peer) return post_receive(at(head.out, 0), head.out.bytes(), head.peer, tag_of(head, 0));
  for (int i = 1; i < size(); ++i) post_send(at(head.in, 0), head.in.bytes(), (rank() + i) % size(), tag_of(head, 0));
}

void MpiCommunicator::start_group() {
  const std::uint64_t number = queue_[head_].number;
  for (std::size_t i = head_; i < queue_.size() && queue_[i].number == number; ++i) {
    const Operation& transfer = queue_[i];
    if (transfer.kind == Kind::send)
      post_send(at(transfer.in, 0), transfer.in.bytes(), transfer.peer, 0);
    else
      post_receive(at(transfer.out, 0), transfer.out.bytes(), transfer.peer, 0);
  }
}

void MpiCommunicator::post_send(const std::byte* data, std::int64_t bytes, int peer, int tag) {
  for (std::int64_t first = 0; first < bytes; first += transfer_limit) {
    const int part = static_cast<int>(std::min(transfer_limit, bytes - first));
    TRIREME_MPI(MPI_Isend(data + first, part, MPI_BYTE, peer, tag, comm_, &requests_.emplace_back()));
  }
}

void MpiCommunicator::post_receive(std::byte* data, std::int64_t bytes, int peer, int tag) {
  for (std::int64_t first = 0; first < bytes; first += transfer_limit) {
    const int part = static_cast<int>(std::min(transfer_limit, bytes - first));
    TRIREME_MPI(MPI_Irecv(data + first, part, MPI_BYTE, peer, tag, comm_, &requests_.emplace_back()));
  }
}

/// Members may be in different calls and phases; a message can match no other call than its own.
int MpiCommunicator::tag_of(const Operation& head, int phase) const {
  return 1 + static_cast<int>((2 * head.collective + static_cast<unsigned>(phase)) % static_cast<unsigned>(tags_));
}

}  // namespace trireme::grid
