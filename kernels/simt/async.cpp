// cp.async: the destination is NaN from the moment of issue, as if the copy had begun at once, and filled as late as the waiting
// allows. So one run shows both a missing wait and a buffer that was overwritten too early. In random order some groups land
// early.
#include <cstring>
#include <utility>

#include "kernels/simt/block_sm90.h"

namespace trireme::simt {
namespace {

/// A copy of no bytes is checked too: it counts as its lane's part of the instruction.
void check(const AsyncCopy& c, const Location& where) {
  at("cp.async", where);
  if (reinterpret_cast<std::uintptr_t>(c.to) % c.bytes != 0 || reinterpret_cast<std::uintptr_t>(c.from) % c.bytes != 0)
    fail("cp.async: an address is not a multiple of the " + std::to_string(c.bytes) + " bytes copied", where);
  if (c.source_bytes > c.bytes)
    fail("cp.async: " + std::to_string(static_cast<std::ptrdiff_t>(c.source_bytes)) + " bytes of a source", where);
  count_shared_access(shared_address(c.to, c.bytes, where), c.bytes, where);
  check_global(c.from, c.source_bytes, false, where, c.pc);
}

void land(AsyncGroup& group) {
  if (std::exchange(group.landed, true)) return;
  for (const AsyncCopy& c : group.copies) {
    note_generic_write(shared_address(c.to, c.bytes, current->where), c.bytes);
    std::memset(c.to, 0, c.bytes);
    std::memcpy(c.to, c.from, c.source_bytes);
  }
}

/// A copy happens at any time from its issue to its wait: what races with it is looked for at both.
void note(const AsyncCopy& copy) {
  note_read(copy.from, copy.source_bytes, copy.pc);
  note_write(copy.to, copy.bytes, copy.pc);
}

}  // namespace

void copy_async(void* to, const void* from, int bytes, int source_bytes, Location where) {
  const AsyncCopy copy{static_cast<std::byte*>(to), static_cast<const std::byte*>(from), static_cast<std::size_t>(bytes),
                       static_cast<std::size_t>(source_bytes), __builtin_return_address(0)};
  {
    const Quiet quiet;
    check(copy, where);
    std::memset(to, 0xFF, copy.bytes);
    current->open.push_back(copy);
  }
  note(copy);
}

void copy_async_commit() {
  const Quiet quiet;
  current->groups.push_back({std::exchange(current->open, {})});
  if (options().order == Order::random && block->random() % 4 == 0) land(current->groups.back());
}

void copy_async_wait(int pending) {
  while (current->groups.size() > static_cast<std::size_t>(pending)) {
    AsyncGroup& oldest = current->groups.front();
    for (const AsyncCopy& c : oldest.copies) note(c);
    const Quiet quiet;
    land(oldest);
    current->groups.erase(current->groups.begin());
  }
}

}  // namespace trireme::simt
