// Bytes and calls that one training step really makes, against the formulas of Megatron-LM's paper (sections 2.2, 2.3, 4.1):
// what a layout costs in communication must not grow unnoticed.
#include "validation/unit/support/mpi_main.h"
#include "validation/unit/support/small_run.h"

namespace trireme::test {
namespace {

using grid::Traffic;

struct Expected {
  std::int64_t bytes, calls;
};

void expect(const grid::TrafficTable& after, const grid::TrafficTable& before, Traffic kind, Expected expected) {
  const auto name = grid::traffic_names[static_cast<std::size_t>(kind)];
  EXPECT_EQ(after[kind].bytes - before[kind].bytes, expected.bytes) << name << " bytes, rank " << world().rank();
  EXPECT_EQ(after[kind].calls - before[kind].calls, expected.calls) << name << " calls, rank " << world().rank();
}

struct Case {
  int t, p, d;
};

void run(const Case& c) {
  SCOPED_TRACE(fmt::format("t={} p={} d={}", c.t, c.p, c.d));
  std::string cut = std::to_string(4 / c.p);
  for (int stage = 1; stage < c.p; ++stage) cut += fmt::format(",{}", 4 / c.p);
  const auto config = small_config(world().size(), {fmt::format("parallel.tensor={}", c.t),
                                                    fmt::format("parallel.pipeline={}", c.p), "parallel.stages=" + cut});
  train::Trainer trainer = make_trainer(world(), config);
  trainer.step(0);
  const grid::TrafficTable before = world().traffic();
  trainer.step(1);
  const grid::TrafficTable& after = world().traffic();

  const std::int64_t h = 32, s = 16, V = 512, m = 8 / c.d, size = 4, layers = 4 / c.p, message = s * h * size;
  const bool first = trainer.grid().at().pipeline == 0, last = trainer.grid().at().pipeline == c.p - 1;
  const auto all_reduce = [&](std::int64_t n, int k) { return 2 * n * (k - 1) / k; };  // bytes sent by each of k ranks

  // Two all-reduces of b s h a layer forward, two backward; one for the embedding; the head's input gradient, and its maximum
  // and sums of b s and 2 b s numbers.
  if (c.t > 1) {
    const std::int64_t full = 4 * layers + first + last;
    expect(after, before, Traffic::tp_all_reduce,
           {m * (full * all_reduce(message, c.t) + last * all_reduce(3 * s * size, c.t)), m * (full + 2 * last)});
  }
  // One activation to the next stage and one gradient to the one before, for each microbatch; a receive is a call too.
  if (c.p > 1) {
    expect(after, before, Traffic::pp_activation, {m * message * !last, m * (!last + !first)});
    expect(after, before, Traffic::pp_gradient, {m * message * !first, m * (!last + !first)});
    expect(after, before, Traffic::tied_embedding, {(first || last) * all_reduce(V / c.t * h * size, 2), first || last});
  }
  // Every parameter once: a bucket a layer for its matrices, one for the vectors of all layers, one each for the positions and
  // the tied embedding.
  if (c.d > 1) {
    const std::int64_t layer = (12 * h * h / c.t) + (7 * h / c.t + 6 * h);
    const std::int64_t elements = layers * layer + (first || last) * V / c.t * h + first * s * h + last * 2 * h;
    expect(after, before, Traffic::dp_all_reduce, {all_reduce(elements * size, c.d), layers + 1 + first + (first || last)});
  }
}

TEST(Traffic, OfAStepIsWhatTheFormulasSay) {
  for (const Case& c : {Case{4, 2, 1}, Case{2, 2, 2}, Case{1, 4, 2}, Case{2, 1, 4}, Case{1, 1, 8}}) run(c);
}

}  // namespace
}  // namespace trireme::test

TRIREME_TEST_MAIN(8)
