// What costs memory or counts allocations: messages longer than one MPI transfer, and steps that allocate nothing.
#include <atomic>
#include <cstdlib>
#include <new>

#include "grid/mpi_communicator.h"
#include "validation/unit/support/mpi_main.h"
#include "validation/unit/support/views.h"

static std::atomic<std::int64_t> allocations = 0;

// Counts every C++ allocation of this program; the MPI library's own are in C. Not inlined: GCC would warn of a free() of what
// came from new.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace trireme::test {
namespace {

using grid::Communicator;
using grid::Reduce;
using grid::Ticket;
using grid::Traffic;

TEST(Limits, AMessageOfMoreThanOneTransferArrivesWhole) {
  constexpr std::int64_t count = grid::MpiCommunicator::transfer_limit / 8 + 5;  // int64, 40 bytes above the limit
  Communicator& group = world().everyone().group();
  std::vector<std::int64_t> data(count);
  if (group.rank() == 0)
    for (std::int64_t i = 0; i < count; ++i) data[static_cast<std::size_t>(i)] = 3 * i;
  const auto before = world().traffic()[Traffic::pp_activation];
  group.begin_group();
  if (group.rank() == 0) group.send(view(data), 1, Traffic::pp_activation);
  if (group.rank() == 1) group.receive(view(data), 0, Traffic::pp_activation);
  group.wait(group.end_group());
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < count; ++i) wrong += data[static_cast<std::size_t>(i)] != 3 * i;
  EXPECT_EQ(wrong, 0);
  const auto after = world().traffic()[Traffic::pp_activation];
  EXPECT_EQ(after.calls - before.calls, 1);
  EXPECT_EQ(after.bytes - before.bytes, group.rank() == 0 ? 8 * count : 0);
}

TEST(Limits, AStepLikeTheOneBeforeAllocatesNothing) {
  Communicator& group = world().everyone().group();
  std::vector<float> full(100'002), piece(50'001), out(1000), in(1000);
  const auto step = [&] {
    Ticket last;
    for (int i = 0; i < 30; ++i) {
      group.all_reduce(view(full), Reduce::maximum, Traffic::control);
      group.begin_group();
      group.send(view(out), 1 - group.rank(), Traffic::control);
      group.receive(view(in), 1 - group.rank(), Traffic::control);
      group.end_group();
      group.reduce_scatter(view(full), view(piece), Traffic::control);
      last = group.all_gather(view(piece), view(full), Traffic::control);
    }
    group.wait(last);
  };
  // How many calls are queued at once depends on the other rank's pace, so one step with none retired sizes the queue: while a
  // group is open nothing starts.
  group.begin_group();
  for (int i = 0; i < 300; ++i)
    i % 2 == group.rank() ? group.send(view(out), 1 - group.rank(), Traffic::control)
                          : group.receive(view(in), 1 - group.rank(), Traffic::control);
  group.wait(group.end_group());
  step();
  const std::int64_t before = allocations;
  for (int i = 0; i < 5; ++i) step();
  EXPECT_EQ(allocations - before, 0);
}

}  // namespace
}  // namespace trireme::test

TRIREME_TEST_MAIN(2)
