// cp.async: the destination is NaN from the moment of issue, as if the copy had begun at once, and filled as late as the waiting
// allows. So one run shows both a missing wait and a buffer that was overwritten too early. In random order some groups land
// early.
#include <cstring>

#include "kernels/simt/block_sm90.h"

namespace trireme::simt {
namespace {

void land(std::vector<AsyncCopy>& group) {
  for (const AsyncCopy& c : group) {
    note_generic_write(shared_address(c.to, c.bytes, current->where), c.bytes);  // by the generic proxy
    std::memset(c.to, 0, c.bytes);
    std::memcpy(c.to, c.from, c.source_bytes);
  }
  group.clear();
}

}  // namespace

void copy_async(void* to, const void* from, int bytes, int source_bytes, Location where) {
  at("cp.async", where);
  const auto n = static_cast<std::size_t>(bytes);
  if (reinterpret_cast<std::uintptr_t>(to) % n != 0 || reinterpret_cast<std::uintptr_t>(from) % n != 0)
    fail("cp.async: an address is not a multiple of the " + std::to_string(bytes) + " bytes copied", where);
  if (source_bytes < 0 || source_bytes > bytes) fail("cp.async: " + std::to_string(source_bytes) + " bytes of a source", where);
  count_shared_access(shared_address(to, n, where), n, where);
  if (source_bytes > 0) check_global(from, static_cast<std::size_t>(source_bytes), false, where);
  std::memset(to, 0xFF, n);
  current->open.push_back(
      {static_cast<std::byte*>(to), static_cast<const std::byte*>(from), n, static_cast<std::size_t>(source_bytes)});
}

void copy_async_commit() {
  current->groups.push_back(std::move(current->open));
  current->open.clear();
  if (options().order == Order::random && block->random() % 4 == 0) land(current->groups.back());
}

void copy_async_wait(int pending) {
  while (current->groups.size() > static_cast<std::size_t>(pending)) {
    land(current->groups.front());
    current->groups.erase(current->groups.begin());
  }
}

}  // namespace trireme::simt
