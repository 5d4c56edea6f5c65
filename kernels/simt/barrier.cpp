// The sixteen barriers of a block. Threads that have ended do not count, and all waiting threads must stand at one source line
// for barrier 0: CUDA would let both pass on some processors.
#include "kernels/simt/block.h"

namespace trireme::simt {
namespace {

/// Whether the barrier is now complete; its waiting threads are then ready.
bool arrive(int id, int threads, const char* action, const Location& where) {
  at(action, where);
  const int all = static_cast<int>(block->size.x * block->size.y * block->size.z);
  const int expected = threads < 0 ? all : threads;
  if (id < 0 || id > 15) fail("there are barriers 0 to 15", where);
  if (threads >= 0 && (threads == 0 || threads % 32 != 0)) fail("a barrier's number of threads is a multiple of 32", where);
  Barrier& b = block->barriers[id];
  if (b.arrived > 0 && b.expected != expected)
    fail("barrier " + std::to_string(id) + " is in use for " + std::to_string(b.expected) + " threads at " + place(b.where),
         where);
  if (id == 0 && b.arrived > 0 && b.where.line() != where.line())
    fail("other threads wait in __syncthreads at " + place(b.where), where);
  b.expected = expected;
  b.where = where;
  hb_release(&b);
  b.inits_seen |= current->inits_seen;
  if (++b.arrived < expected) return false;
  ++counters().barriers;
  current->inits_seen |= b.inits_seen;
  for (Thread* t : b.waiting) {
    hb_acquire(&b, *t);
    t->inits_seen |= b.inits_seen;
    t->state = State::ready;
  }
  b.waiting.clear();
  b.arrived = 0;
  b.inits_seen = 0;
  return true;
}

}  // namespace

void barrier_sync(int id, int threads, Location where) {
  const Quiet quiet;
  if (arrive(id, threads, threads < 0 ? "__syncthreads" : "bar.sync", where)) return hb_acquire(&block->barriers[id]);
  block->barriers[id].waiting.push_back(current);
  leave_thread(State::waiting);
}

void barrier_arrive(int id, int threads, Location where) {
  const Quiet quiet;
  arrive(id, threads, "bar.arrive", where);
}

}  // namespace trireme::simt
