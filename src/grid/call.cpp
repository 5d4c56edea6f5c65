#include "grid/call.h"

#include <algorithm>
#include <stdexcept>

#include "grid/pieces.h"

namespace trireme::grid {
namespace {

void require(bool condition, const char* what) {
  if (!condition) throw std::logic_error(what);
}

}  // namespace

std::int64_t Call::bytes() const { return std::max(in.bytes(), out.bytes()); }

void check(const Call& call, int rank, int size) {
  const auto [kind, in, out, peer, op, traffic] = call;
  switch (kind) {
    case Call::Kind::all_reduce:
      return;
    case Call::Kind::reduce_scatter:
      return require(in.count == size * out.count && in.type == out.type, "reduce_scatter: in.count is not size * out.count");
    case Call::Kind::all_gather:
      return require(out.count == size * in.count && in.type == out.type, "all_gather: out.count is not size * in.count");
    case Call::Kind::broadcast:
      return require(peer >= 0 && peer < size, "broadcast: root outside the group");
    case Call::Kind::send:
    case Call::Kind::receive:
      return require(peer >= 0 && peer < size && peer != rank, "transfer with no other member");
  }
}

std::int64_t bytes_sent(const Call& call, int rank, int size) {
  const auto piece = [&](kernels::View whole) { return piece_of(whole.count, size, rank).count * bytes_of(whole.type); };
  switch (call.kind) {
    case Call::Kind::all_reduce:
      return call.in.bytes() - piece(call.in) + (size - 1) * piece(call.out);
    case Call::Kind::reduce_scatter:
      return call.in.bytes() - piece(call.in);
    case Call::Kind::all_gather:
      return (size - 1) * piece(call.out);
    case Call::Kind::broadcast:
      return rank == call.peer ? (size - 1) * call.in.bytes() : 0;
    case Call::Kind::send:
      return call.in.bytes();
    case Call::Kind::receive:
      break;
  }
  return 0;
}

}  // namespace trireme::grid
