// mbarriers by the PTX manual: a phase ends when all arrivals and all expected bytes are there. The state is in the 8 bytes of
// shared memory, so that an array laid over them is noticed; who knows of it is kept beside them. A thread must have learnt of an
// init through a barrier, the asynchronous proxy through a fence.
#include "kernels/simt/block_sm90.h"

namespace trireme::simt {
namespace {

constexpr int count_bits = 20, bytes_bits = 22, largest_count = (1 << count_bits) - 1, bytes_bias = 1 << (bytes_bits - 1);

struct Phase {
  unsigned parity;     // of the phase that is under way
  int count, pending;  // arrivals of every phase; that this one lacks
  int bytes;           // that this phase lacks; negative: they came before they were expected
};

/// Bit 63 is never set, so memory that is NaN holds none.
std::uint64_t packed(const Phase& p) {
  return std::uint64_t{p.parity} | static_cast<std::uint64_t>(p.count) << 1 |
         static_cast<std::uint64_t>(p.pending) << (1 + count_bits) |
         static_cast<std::uint64_t>(p.bytes + bytes_bias) << (1 + 2 * count_bits);
}
Phase unpacked(std::uint64_t word) {
  return {static_cast<unsigned>(word & 1), static_cast<int>(word >> 1 & largest_count),
          static_cast<int>(word >> (1 + count_bits) & largest_count),
          static_cast<int>(word >> (1 + 2 * count_bits)) - bytes_bias};
}

/// What arrivals in phases of this parity release, and waits for it acquire
const void* order(const std::uint64_t* barrier, unsigned parity) { return reinterpret_cast<const std::byte*>(barrier) + parity; }

void put(std::uint64_t* barrier, Mbarrier& known, Phase phase) {
  if (phase.pending == 0 && phase.bytes == 0) {
    for (Thread* t : known.waiting) {
      hb_acquire(order(barrier, phase.parity), *t);
      t->state = State::ready;
    }
    phase.parity ^= 1;
    phase.pending = phase.count;
    known.waiting.clear();
  }
  *barrier = packed(phase);
}

Mbarrier& known(std::uint64_t* barrier, const Location& where) {
  const auto found = sm90().mbarriers.find(barrier);
  if (found == sm90().mbarriers.end()) fail("an mbarrier without mbarrier.init", where);
  Mbarrier& m = found->second;
  if ((current->inits_seen >> m.number & 1) == 0)
    fail("mbarrier.init of " + place(m.where) + " is not known to this thread: no barrier between them", where);
  if (*barrier >> 63 != 0) fail("the mbarrier of " + place(m.where) + " was overwritten", where);
  return m;
}

}  // namespace

void mbarrier_init(std::uint64_t* barrier, std::uint32_t count, Location where) {
  const Quiet quiet;
  at("mbarrier.init", where);
  shared_address(barrier, 8, where);
  if (reinterpret_cast<std::uintptr_t>(barrier) % 8 != 0) fail("an mbarrier's address is a multiple of 8", where);
  if (count == 0 || count > largest_count) fail("an mbarrier for " + std::to_string(count) + " arrivals: 1 to 2^20 - 1", where);
  const auto number = static_cast<int>(sm90().mbarriers.size());
  if (number == 64) fail("the simulator knows 64 mbarriers of a block", where);
  const auto [m, fresh] = sm90().mbarriers.emplace(barrier, Mbarrier{number, current->number, where, false, 0, {}});
  if (!fresh) fail("an mbarrier is already here, from " + place(m->second.where), where);
  current->inits_seen |= std::uint64_t{1} << number;
  put(barrier, m->second, {0, static_cast<int>(count), static_cast<int>(count), 0});
}

void mbarrier_init_fence() {
  const Quiet quiet;
  for (auto& [barrier, m] : sm90().mbarriers)
    if (m.thread == current->number) m.fenced = true;
}

void mbarrier_arrive(std::uint64_t* barrier, std::uint32_t bytes, Location where) {
  const Quiet quiet;
  at(bytes == 0 ? "mbarrier.arrive" : "mbarrier.arrive.expect_tx", where);
  Mbarrier& m = known(barrier, where);
  Phase phase = unpacked(*barrier);
  if (phase.pending == 0)
    fail("more arrivals in a phase than the " + std::to_string(phase.count) + " of mbarrier.init at " + place(m.where), where);
  if (bytes > static_cast<std::uint32_t>(largest_count - phase.bytes)) fail("an mbarrier expects 2^20 - 1 bytes at most", where);
  m.inits_seen |= current->inits_seen;
  hb_release(order(barrier, phase.parity));
  --phase.pending;
  phase.bytes += static_cast<int>(bytes);
  put(barrier, m, phase);
}

bool mbarrier_try_wait(std::uint64_t* barrier, std::uint32_t parity, Location where) {
  const Quiet quiet;
  at(parity == 0 ? "mbarrier.wait parity 0" : "mbarrier.wait parity 1", where);
  if (parity > 1) fail("mbarrier.wait: a parity of " + std::to_string(parity), where);
  Mbarrier& m = known(barrier, where);
  // Looks again when its turn comes: a phase that has meanwhile come and gone twice is one that polling misses, too.
  while (unpacked(*barrier).parity == parity) {
    if (options().order == Order::random && block->random() % 4 == 0) {
      leave_thread(State::ready);
      if (unpacked(*barrier).parity == parity) return false;
    } else {
      m.waiting.push_back(current);
      leave_thread(State::waiting);
    }
  }
  current->inits_seen |= m.inits_seen;
  hb_acquire(order(barrier, parity));
  return true;
}

void check_transaction_barrier(std::uint64_t* barrier, const Location& where) {
  const Mbarrier& m = known(barrier, where);
  if (!m.fenced)
    fail("TMA does not know the mbarrier of " + place(m.where) + ": no fence.mbarrier_init by the thread that made it", where);
}

void release_transaction(std::uint64_t* barrier) { hb_release(order(barrier, unpacked(*barrier).parity)); }

void complete_transaction(std::uint64_t* barrier, std::uint32_t bytes, const Location& where) {
  Phase phase = unpacked(*barrier);
  Mbarrier& m = sm90().mbarriers.at(barrier);
  phase.bytes -= static_cast<int>(bytes);
  if (*barrier >> 63 != 0) return report("the mbarrier of " + place(m.where) + " was overwritten", where);
  if (phase.bytes < -largest_count) return report("2^20 bytes more than the mbarrier of " + place(m.where) + " expects", where);
  put(barrier, m, phase);
}

std::string missing_arrivals() {
  std::string text;
  if (block->sm90 == nullptr) return text;
  for (const auto& [barrier, m] : sm90().mbarriers) {
    if (m.waiting.empty()) continue;
    const Phase phase = unpacked(*barrier);
    text += " {mbarrier of " + place(m.where) + ", parity " + std::to_string(phase.parity) + ": " +
            std::to_string(phase.pending) + " arrivals and " + std::to_string(phase.bytes) + " bytes are missing}";
  }
  return text;
}

}  // namespace trireme::simt
