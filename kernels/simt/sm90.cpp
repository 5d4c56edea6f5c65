// State of a block that uses Hopper's instructions, and what must be over when a thread or the block ends.
#include <bit>

#include "kernels/simt/block_sm90.h"

namespace trireme::simt {

Sm90& sm90() {
  if (block->sm90 == nullptr) block->sm90 = std::make_shared<Sm90>();
  return *block->sm90;
}

void report(const std::string& message, const Location& where) {
  if (block->error.empty()) block->error = std::string(block->kernel) + ": " + message + " [" + place(where) + "]";
}

void end_thread_sm90() {
  const Quiet quiet;
  if (block->sm90 == nullptr) return;
  end_products(current->number / 32);
  const auto stores = sm90().stores.find(current->number);
  if (stores == sm90().stores.end()) return;
  if (!stores->second.open.empty()) fail("ends with TMA stores that it never committed", stores->second.open.front().box.where);
  for (const StoreGroup& group : stores->second.groups)
    if (!group.source_read) fail("ends with TMA stores that it never waited for", group.stores.front().box.where);
}

void end_block_sm90() {
  if (block->sm90 == nullptr) return;
  if (!sm90().loads.empty()) report("ends with a TMA load in flight", sm90().loads.front().box.where);
  end_stores();
  end_registers();
  for (const auto& [group, issues] : sm90().issues)
    for (int warp = 4 * group; warp < 4 * group + 4; ++warp)
      if (sm90().products[warp].issued != issues.size())
        report("warp " + std::to_string(warp) + " left out a wgmma of its warpgroup", Location());
}

/// The lowest lane, or in other orders another one, for no kernel may count on which it is.
bool elect(std::uint32_t mask, Location where) {
  const Quiet quiet;
  warp_collective(
      mask, "elect.sync", nullptr, [](void* const*, std::uint32_t) {}, where);
  int leader = std::countr_zero(mask);
  if (options().order == Order::descending) leader = 31 - std::countl_zero(mask);
  if (options().order == Order::random)
    for (auto skip = options().seed % static_cast<unsigned>(std::popcount(mask)); skip > 0; --skip)
      leader = std::countr_zero(mask & ~0u << (leader + 1));
  return current->lane == leader;
}

}  // namespace trireme::simt
