#include "grid/communicator.h"

#include <stdexcept>
#include <utility>

namespace trireme::grid {
namespace {

std::uint32_t next_identity() {
  static std::uint32_t made = 0;
  return ++made;
}

void require(bool condition, const char* what) {
  if (!condition) throw std::logic_error(what);
}

}  // namespace

Communicator::Communicator(Members members, Progress& progress, Activity& activity)
    : members_(std::move(members)), progress_(progress), activity_(activity), identity_(next_identity()) {}

Communicator::Communicator(const Communicator* other) : Communicator(other->members_, other->progress_, other->activity_) {}

Ticket Communicator::all_reduce(kernels::View data, Reduce op, Traffic kind) {
  return collective({.kind = Call::Kind::all_reduce, .in = data, .out = data, .op = op, .traffic = kind});
}

Ticket Communicator::reduce_scatter(kernels::View in, kernels::View out, Traffic kind) {
  return collective({.kind = Call::Kind::reduce_scatter, .in = in, .out = out, .traffic = kind});
}

Ticket Communicator::all_gather(kernels::View in, kernels::View out, Traffic kind) {
  return collective({.kind = Call::Kind::all_gather, .in = in, .out = out, .traffic = kind});
}

Ticket Communicator::broadcast(kernels::View data, int root, Traffic kind) {
  return collective({.kind = Call::Kind::broadcast, .in = data, .out = data, .peer = root, .traffic = kind});
}

Ticket Communicator::collective(const Call& call) {
  grid::check(call, rank(), size());
  require(!grouping_, "collective inside a group");
  if (size() > 1) return start_counted({&call, 1});
  if (call.in.data != call.out.data && call.in.count > 0) copy(call.out, call.in);
  return {};
}

void Communicator::begin_group() {
  require(!grouping_, "begin_group inside a group");
  grouping_ = true;
}

void Communicator::send(kernels::View data, int peer, Traffic kind) {
  transfer({.kind = Call::Kind::send, .in = data, .out = {}, .peer = peer, .traffic = kind});
}

void Communicator::receive(kernels::View data, int peer, Traffic kind) {
  transfer({.kind = Call::Kind::receive, .in = {}, .out = data, .peer = peer, .traffic = kind});
}

void Communicator::transfer(const Call& call) {
  require(grouping_, "transfer outside a group");
  grid::check(call, rank(), size());
  group_.push_back(call);
}

Ticket Communicator::end_group() {
  require(grouping_, "end_group outside a group");
  grouping_ = false;
  if (group_.empty()) return {};
  const Ticket ticket = start_counted(group_);
  group_.clear();
  return ticket;
}

Ticket Communicator::start_counted(std::span<const Call> calls) {
  for (const Call& call : calls) {
    TrafficCount& count = activity_.traffic()[call.traffic];
    ++count.calls;
    count.bytes += bytes_sent(call, rank(), size());
  }
  start(calls, ++issued_);
  return {issued_, identity_};
}

void Communicator::order_after(Ticket ticket) {
  if (!done(ticket)) order_device_after(ticket.value);
}

void Communicator::wait(Ticket ticket) {
  if (!done(ticket)) wait_counted(ticket.value, [&] { return finished(ticket.value); });
}

bool Communicator::done(Ticket ticket) {
  check(ticket);
  return ticket.value == 0 || finished(ticket.value);
}

void Communicator::check(Ticket ticket) const {
  require(ticket.value == 0 || ticket.communicator == identity_, "a ticket that this communicator never gave");
}

Subject Communicator::peer_of(const Call& call) const {
  return {.peer = call.is_transfer() ? members_.world_ranks[static_cast<std::size_t>(call.peer)] : -1};
}

}  // namespace trireme::grid
