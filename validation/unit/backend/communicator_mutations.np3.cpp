// Every bug of mutations/ is planted into a copy of the communicators for device memory, one at a time, and must be noticed, in
// some order of streams: by wrong values, or by a fault of the simulator or of the stand-in for NCCL. Without a bug all is right.
#include "kernels/simt/engine.h"
#include "validation/unit/backend/device_communicators.h"
#include "validation/unit/simt/mutations/mutations.h"

namespace trireme::test {
namespace {

/// The numbers as another stream reads them, which nothing but the host's waits orders.
template <class T>
std::vector<T> read(kernels::Device& reader, const Array<T>& array) {
  std::vector<T> numbers(static_cast<std::size_t>(array.view().count));
  reader.download(numbers.data(), array.view());
  return numbers;
}

/// All calls are made whatever came out of the ones before, so that no rank waits for another in vain.
class Check {
 public:
  explicit Check(Carrier carrier) : made_(carrier), reader_(kernels::cuda::make_cuda_device(0)) {}
  /// While the array of work_left_at_the_end is still there: freeing it would wait.
  ~Check() {
    made_.group.reset();
    made_.another.reset();
  }

  bool all_is_right() {
    const bool right[] = {host_reads<float>(), host_reads<Bf16>(),      device_reads(),        device_overwrites(),
                          many_calls(),        pieces_arrive(),         groups_arrive(),       tickets_are_told_apart(),
                          maximum_and_root(),  what_is_done_is_there(), work_left_at_the_end()};
    return std::all_of(std::begin(right), std::end(right), [](bool r) { return r; });
  }

 private:
  Communicator& group() { return *made_.group; }
  kernels::Device& device() { return *made_.compute; }
  int rank() { return group().rank(); }
  int size() { return group().size(); }
  int next() { return (rank() + 1) % size(); }
  int last() { return (rank() + size() - 1) % size(); }
  template <class T>
  Ticket sum(const Array<T>& data) {
    return group().all_reduce(data.view(), Reduce::sum, Traffic::control);
  }

  template <class T>
  bool host_reads() {
    Array<T> data(device(), values<T>(rank(), 5000));  // more than one round
    group().wait(sum(data));
    return read(*reader_, data) == sums<T>(size(), 5000);
  }
  bool device_reads() {
    bool right = true;
    for (int round = 0; round < 2; ++round) {
      Array<float> source(device(), values<float>(rank(), 300)), data(device(), 300), more(device(), 300), out(device(), 300);
      device().copy(data.view(), source.view());
      device().copy(more.view(), source.view());
      sum(data);
      group().order_after(sum(more));
      device().copy(out.view(), more.view());
      right = out.numbers() == sums<float>(size(), 300) && right;
    }
    return right;
  }
  bool device_overwrites() {
    Array<float> mine(device(), values<float>(rank(), 300)), got(device(), 300);
    group().begin_group();
    group().send(mine.view(), next(), Traffic::control);
    group().receive(got.view(), last(), Traffic::control);
    const Ticket ticket = group().end_group();
    group().order_after(ticket);
    device().zero(mine.view());
    group().wait(ticket);
    return read(*reader_, got) == values<float>(last(), 300);
  }
  bool many_calls() {
    constexpr std::int64_t calls = 40;
    Array<float> data(device(), values<float>(rank(), calls));
    std::vector<Ticket> tickets;
    for (std::int64_t i = 0; i < calls; ++i)
      tickets.push_back(group().all_reduce(data.slice(i, 1), Reduce::sum, Traffic::control));
    for (const Ticket& ticket : tickets) group().order_after(ticket);
    return data.numbers() == sums<float>(size(), calls);
  }
  bool pieces_arrive() {
    const std::int64_t part = 1500;
    Array<float> whole(device(), values<float>(rank(), part * size())), mine(device(), part), all(device(), part * size());
    group().reduce_scatter(whole.view(), mine.view(), Traffic::control);
    group().wait(group().all_gather(mine.view(), all.view(), Traffic::control));
    return read(*reader_, all) == sums<float>(size(), part * size());
  }
  bool groups_arrive() {
    Array<float> few(device(), values<float>(rank(), 5)), got_few(device(), 5);
    Array<Bf16> many(device(), values<Bf16>(rank(), 700)), got_many(device(), 700);
    group().begin_group();
    group().send(few.view(), next(), Traffic::control);
    group().receive(got_few.view(), last(), Traffic::control);
    group().send(many.view(), next(), Traffic::control);
    group().receive(got_many.view(), last(), Traffic::control);
    group().wait(group().end_group());
    return read(*reader_, got_few) == values<float>(last(), 5) && read(*reader_, got_many) == values<Bf16>(last(), 700);
  }
  bool tickets_are_told_apart() {
    Array<float> data(device(), values<float>(rank(), 5));
    const Ticket ticket = made_.another->all_reduce(data.view(), Reduce::sum, Traffic::control);
    bool refused = false;
    try {
      group().done(ticket);
    } catch (const std::logic_error&) {
      refused = true;
    }
    made_.another->wait(ticket);
    return refused;
  }
  bool maximum_and_root() {
    Array<float> data(device(), values<float>(rank(), 2500)), told(device(), values<float>(rank(), 2500));
    group().broadcast(told.view(), 1, Traffic::control);
    group().wait(group().all_reduce(data.view(), Reduce::maximum, Traffic::control));
    return read(*reader_, data) == values<float>(size() - 1, 2500) && read(*reader_, told) == values<float>(1, 2500);
  }
  bool what_is_done_is_there() {
    Array<float> data(device(), values<float>(rank(), 300));
    const Ticket ticket = sum(data);
    while (!group().done(ticket)) world().progress().poll();
    return read(*reader_, data) == sums<float>(size(), 300);
  }
  /// The destructors have something to wait for.
  bool work_left_at_the_end() {
    last_ = std::make_unique<Array<float>>(device(), values<float>(rank(), 300));
    sum(*last_);
    return true;
  }

  DeviceCommunicators made_;
  std::unique_ptr<kernels::Device> reader_;
  std::unique_ptr<Array<float>> last_;
};

bool all_is_right(Carrier carrier) {
  bool right = false;
  {
    Check check(carrier);
    right = check.all_is_right();
  }
  return right && simt::nccl_fault().empty();
}

/// What a rank noticed: 1, or 0; the same on all.
bool noticed(bool (*check)()) {
  std::int64_t wrong = 1;
  try {
    wrong = check() ? 0 : 1;
  } catch (const std::exception&) {  // a fault, or a call that was refused
  }
  simt::nccl_forget();
  world().everyone().all_reduce(wrong, Reduce::maximum);
  return wrong != 0;
}

TEST(CommunicatorMutations, WithoutABugAllIsRight) {
  for (const auto& order : simt::thread_orders)
    for (const auto check : {simt::checks::staged_communicator, simt::checks::nccl_communicator}) {
      simt::use_order(order);
      EXPECT_FALSE(noticed(check)) << order.name;
    }
}

TEST(CommunicatorMutations, EveryBugIsNoticed) {
  for (const simt::Mutation& bug : simt::mutations) {
    *bug.planted = true;
    bool caught = false;
    for (const auto& order : simt::thread_orders) {
      if (caught) break;
      simt::use_order(order);
      simt::nccl_options().patience = 3;  // where all wait for each other
      caught = noticed(bug.check);
    }
    *bug.planted = false;
    EXPECT_TRUE(caught) << bug.name << ": " << bug.what;
  }
  EXPECT_GE(simt::mutations.size(), 24u);
}

}  // namespace
}  // namespace trireme::test

namespace trireme::simt::checks {
bool staged_communicator() { return test::all_is_right(test::Carrier::staged); }
bool nccl_communicator() { return test::all_is_right(test::Carrier::nccl); }
}  // namespace trireme::simt::checks

TRIREME_TEST_MAIN(3)
