// Warp collectives. All lanes of a mask meet at one call of one source line; what CUDA leaves undefined is an error here.
#include <bit>
#include <cstring>

#include "kernels/simt/block.h"

namespace trireme::simt {
namespace {

/// The open collective of exactly these lanes, begun if there is none. Two may be open at once while the lanes of the one are on
/// their way to the other; not when each waits for lanes that wait in the other.
Collective& join(std::uint32_t mask, const char* name, const Location& where) {
  std::vector<Collective>& open = current->warp->open;
  for (Collective& c : open) {
    const bool same = std::strcmp(c.name, name) == 0 && c.where.line() == where.line();
    if (c.mask == mask && !same) fail("other lanes of the mask wait in " + std::string(c.name) + " " + place(c.where), where);
    if (c.mask == mask) return c;
    if ((c.arrived & mask) != 0 && (c.mask >> current->lane & 1) != 0)
      fail("masks overlap: other lanes wait in " + std::string(c.name) + " " + place(c.where), where);
  }
  return open.emplace_back(Collective{mask, 0, name, where, {}});
}

struct Shuffle {
  std::uint64_t value, result;
  int source;
};
void exchange(void* const* arguments, std::uint32_t mask) {
  for (int i = 0; i < 32; ++i) {
    if ((mask >> i & 1) == 0) continue;
    auto* own = static_cast<Shuffle*>(arguments[i]);
    own->result = own->source < 0 ? own->value : static_cast<Shuffle*>(arguments[own->source])->value;
  }
}

void collect(void* const* arguments, std::uint32_t mask) {
  std::uint32_t votes = 0;
  for (int i = 0; i < 32; ++i)
    if ((mask >> i & 1) != 0) votes |= (*static_cast<std::uint32_t*>(arguments[i]) & 1u) << i;
  for (int i = 0; i < 32; ++i)
    if ((mask >> i & 1) != 0) *static_cast<std::uint32_t*>(arguments[i]) = votes;
}

}  // namespace

void warp_collective(std::uint32_t mask, const char* name, void* arguments, Compute compute, Location where) {
  const Quiet quiet;
  at(name, where);
  ++counters().collectives;
  if ((mask >> current->lane & 1) == 0) fail("the calling lane is not in the mask", where);
  Warp& warp = *current->warp;
  Collective& c = join(mask, name, where);
  c.arguments[current->lane] = arguments;
  c.arrived |= 1u << current->lane;
  const bool orders = compute == nullptr;  // memory: __syncwarp, but no shuffle, vote or product
  const char* const synced = &warp.synced[std::countr_zero(mask)];
  if (orders) hb_release(synced);
  if (c.arrived != mask) return leave_thread(State::waiting);
  const Collective complete = c;
  warp.open.erase(warp.open.begin() + (&c - warp.open.data()));
  if (compute != nullptr) compute(complete.arguments, mask);
  std::uint64_t inits_seen = 0;
  for (const Thread* t : warp.threads)
    if (orders && (mask >> t->lane & 1) != 0) inits_seen |= t->inits_seen;
  for (Thread* t : warp.threads) {
    if ((mask >> t->lane & 1) == 0) continue;
    if (orders) hb_acquire(synced, *t);
    t->inits_seen |= inits_seen;
    t->state = State::ready;
  }
}

std::uint64_t shuffle(std::uint32_t mask, std::uint64_t value, int source, const char* name, Location where) {
  const Quiet quiet;
  at(name, where);
  if (source >= 0 && (mask >> source & 1) == 0)
    fail("reads lane " + std::to_string(source) + ", which is not in the mask", where);
  Shuffle own{value, 0, source};
  warp_collective(mask, name, &own, exchange, where);
  return own.result;
}

std::uint32_t ballot(std::uint32_t mask, bool predicate, const char* name, Location where) {
  std::uint32_t vote = predicate;
  warp_collective(mask, name, &vote, collect, where);
  return vote;
}

}  // namespace trireme::simt
