// One call of a communicator, as it is checked, counted, and kept until it runs.
#pragma once

#include <cstdint>

#include "grid/traffic.h"
#include "kernels/device.h"

namespace trireme::grid {

enum class Reduce { sum, maximum };

/// A collective, or one transfer of a group. In place, `in` is `out`; a send has no `out`, a receive no `in`.
struct Call {
  enum class Kind { all_reduce, reduce_scatter, all_gather, broadcast, send, receive };
  Kind kind = Kind::all_reduce;
  kernels::View in, out;
  int peer = 0;  // root, or the other end
  Reduce op = Reduce::sum;
  Traffic traffic = Traffic::control;

  bool is_transfer() const { return kind == Kind::send || kind == Kind::receive; }
  /// Of the larger span.
  std::int64_t bytes() const;
};

/// Throws std::logic_error where `call` makes no sense on member `rank` of `size`.
void check(const Call& call, int rank, int size);

/// What member `rank` of `size` sends: pieces to all others in an exchange or a gather, all of it to all others as a root.
std::int64_t bytes_sent(const Call& call, int rank, int size);

}  // namespace trireme::grid
