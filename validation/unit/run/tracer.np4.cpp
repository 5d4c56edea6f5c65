// A run's own trace. Oracle: the schedule's list of actions, the FLOPs of a whole step (spec/flops.h), and that ranks on one host
// have one clock.
#include "run/tracer.h"

#include <cmath>

#include "base/error.h"
#include "spec/flops.h"
#include "validation/unit/support/mpi_main.h"
#include "validation/unit/support/process.h"
#include "validation/unit/support/small_run.h"

namespace trireme::test {
namespace {

using grid::kind_of;
using grid::Traffic;
using grid::Work;
using schedule::Act;
using store::RankTrace;
using store::TraceEvent;

const std::vector<std::vector<std::string>> layouts = {
    {"parallel.tensor=2", "parallel.pipeline=2"},
    {"parallel.pipeline=4"},
    {"parallel.tensor=2"},
    {"parallel.pipeline=2", "parallel.virtual=2", "parallel.schedule=interleaved"}};

config::Config configuration(std::vector<std::string> values) {
  values.insert(values.end(), {"run.steps=3", "trace.steps=2", "run.evaluate_every=1", "run.evaluate_samples=16"});
  return small_config(world().size(), values);
}

/// Passes and optimizer steps in the order in which they began.
std::vector<schedule::Action> actions_of(const RankTrace& rank) {
  std::vector<schedule::Action> actions;
  for (const TraceEvent& event : rank.events) {
    const auto add = [&](Act act) { actions.push_back({act, event.subject.microbatch, event.subject.chunk}); };
    if (event.kind == kind_of(Work::forward)) add(Act::forward);
    if (event.kind == kind_of(Work::backward)) add(Act::backward);
    if (event.kind == kind_of(Work::optimizer_step)) actions.push_back({Act::optimizer_step});
  }
  return actions;
}

void check_nesting(const RankTrace& rank) {
  const std::vector<int> outer = store::enclosing(rank.events);
  double last = 0;  // end of the outermost event before
  for (std::size_t k = 0; k < rank.events.size(); ++k) {
    const TraceEvent& event = rank.events[k];
    EXPECT_GE(event.end, event.begin);
    if (event.kind == kind_of(Traffic::tp_all_reduce)) {
      ASSERT_GE(outer[k], 0) << "tensor ranks wait inside a pass";
      const int kind = rank.events[static_cast<std::size_t>(outer[k])].kind;
      EXPECT_TRUE(kind == kind_of(Work::forward) || kind == kind_of(Work::backward) || kind == kind_of(Work::evaluation));
      EXPECT_GT(event.bytes, 0);
    }
    if (event.kind == kind_of(Traffic::pp_activation)) {
      EXPECT_EQ(outer[k], -1);
      EXPECT_GE(event.subject.peer, 0);
    }
    if (outer[k] >= 0) continue;
    EXPECT_GE(event.begin, last) << "what is not nested does not overlap";
    last = event.end;
  }
}

TEST(Tracer, RecordsEveryActionOfEveryRank) {
  for (const auto& layout : layouts) {
    const Folder folder;  // rank 0's is used
    const config::Config config = configuration(layout);
    train::Trainer trainer = make_trainer(world(), config);
    run::Tracer tracer(world(), config, trainer.layout(), "the configuration", folder.path(), trainer.replica().device());
    for (int step = 1; step <= 3; ++step) {
      tracer.begin(step);
      trainer.step(step - 1);
      trainer.evaluate();
      tracer.end();
    }
    if (world().rank() != 0) continue;
    EXPECT_FALSE(fs::exists(tracer.path(1)) || fs::exists(tracer.path(3))) << "only what was asked for";
    const store::Trace trace = store::read_trace(tracer.path(2));
    EXPECT_EQ(trace.step, 2);
    EXPECT_EQ(trace.config, "the configuration");
    ASSERT_EQ(std::ssize(trace.ranks), 4);
    double flops = 0, first = 1e300;
    for (const RankTrace& rank : trace.ranks) {
      EXPECT_EQ(actions_of(rank), trainer.layout().training.schedule.actions[static_cast<std::size_t>(rank.at.pipeline)])
          << layout.front();
      EXPECT_EQ(rank.missed, 0) << "the memory taken beforehand is enough";
      EXPECT_EQ(rank.host, world().host());
      EXPECT_LE(std::abs(rank.clock_offset), rank.clock_error) << "one host, one clock";
      check_nesting(rank);
      for (const TraceEvent& event : rank.events) flops += event.flops;
      first = std::min(first, rank.events.front().begin);
    }
    EXPECT_GT(trace.ranks[1].clock_error, 0);
    EXPECT_GE(first, -2 * trace.ranks[1].clock_error) << "times count from the step's start";
    EXPECT_NEAR(flops, spec::model_flops(config.model, static_cast<double>(config.batch.global)),
                1e-6 * flops);  // sums of doubles
  }
}

TEST(Tracer, AFileThatCannotBeWrittenCostsNoRank) {
  const config::Config config = configuration(layouts.front());
  train::Trainer trainer = make_trainer(world(), config);
  run::Tracer tracer(world(), config, trainer.layout(), "", "/dev/null", trainer.replica().device());
  tracer.begin(2);
  trainer.step(1);
  std::string message;
  try {
    tracer.end();
  } catch (const base::Error& error) {
    message = error.what();
  }
  EXPECT_EQ(message.find("/dev/null/traces") != std::string::npos, world().rank() == 0) << message;
  EXPECT_EQ(world().everyone().sum(1), 4);  // the ranks still agree on what comes next
}

TEST(Clock, OfEveryRankIsRankZerosOnOneHost) {
  const run::ClockReading reading = run::read_clock(world());
  EXPECT_LE(std::abs(reading.offset), reading.error);
  EXPECT_EQ(reading.error > 0, world().rank() > 0);
}

}  // namespace
}  // namespace trireme::test

TRIREME_TEST_MAIN(4)
