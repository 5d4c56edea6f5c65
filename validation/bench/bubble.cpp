// The pipeline bubble, measured: the executor runs real schedules and messages under kernels that only sleep. By a clock around
// the step, and as `trireme trace` finds it in the trace of the same step, against section 2.2 of arXiv 2104.04473: (p-1)/m for
// gpipe and 1f1b, (p-1)/(v m) interleaved, in times of the work. Of three steps the shortest: a
// sleep ends late where others want the core.
#include <fmt/format.h>

#include "base/clock.h"
#include "run/tracer.h"
#include "schedule/timing.h"
#include "validation/bench/sleeping_kernels.h"
#include "validation/unit/support/process.h"
#include "validation/unit/support/small_run.h"
#include "view/trace_summary.h"

namespace {

using namespace trireme;
struct Case {
  std::string schedule;
  int chunks, microbatches;
};

/// Layers of equal cost, as many in each chunk.
config::Config configuration(const Case& c, int stages) {
  std::string cut;
  for (int k = 0; k < stages * c.chunks; ++k) cut += k ? ",1" : "1";
  return test::small_config(stages,
                            {"model.hidden=8", "model.heads=1", "model.sequence=4", "parallel.stages=" + cut,
                             fmt::format("model.layers={}", stages * c.chunks), fmt::format("parallel.pipeline={}", stages),
                             fmt::format("parallel.virtual={}", c.chunks), "parallel.schedule=" + c.schedule,
                             fmt::format("batch.global={}", c.microbatches), "run.steps=4", "trace.steps=2-4"});
}

double step_seconds(train::Trainer& trainer, grid::World& world, std::int64_t step) {
  world.everyone().barrier();
  const double begin = base::now();
  trainer.step(step);
  world.everyone().barrier();
  return base::now() - begin;
}

/// As the executor measured it: a sleep is a little longer than asked for.
double work_seconds(grid::World& world) {
  return world.activity().seconds(grid::Work::forward) + world.activity().seconds(grid::Work::backward);
}

void measure(grid::World& world, const Case& c, const std::string& folder) {
  const config::Config config = configuration(c, world.size());
  train::Trainer trainer = test::make_trainer(world, config, {nullptr, std::make_unique<bench::SleepingKernels>()});
  run::Tracer tracer(world, config, trainer.layout(), "", folder, trainer.replica().device());
  step_seconds(trainer, world, 0);
  double seconds = 1e300, work = 0, traced = 0;
  for (int step = 2; step <= 4; ++step) {
    const double slept = work_seconds(world);
    tracer.begin(step);
    const double now = step_seconds(trainer, world, step - 1);
    const double slept_now = world.everyone().sum(work_seconds(world) - slept) / world.size();
    tracer.end();
    if (world.rank() != 0 || now >= seconds) continue;
    seconds = now, work = slept_now;
    traced = view::measured_bubble(store::read_trace(tracer.path(step)));
  }
  if (world.rank() != 0) return;
  fmt::print("{:<12}{:>4}{:>4}{:>4}{:>12.0f}{:>12.0f}{:>12.4f}{:>12.4f}{:>12.4f}\n", c.schedule, world.size(), c.chunks,
             c.microbatches, work * 1e3, seconds * 1e3, seconds / work - 1, traced,
             schedule::bubble_formula(trainer.layout().training.schedule));
}

}  // namespace

int main() {
  grid::World world;
  const test::Folder folder;  // rank 0's is used
  if (world.rank() == 0)
    fmt::print("{:<12}{:>4}{:>4}{:>4}{:>12}{:>12}{:>12}{:>12}{:>12}\n", "schedule", "p", "v", "m", "work ms", "step ms", "bubble",
               "by trace", "formula");
  for (const Case& c : {Case{"gpipe", 1, 8}, Case{"1f1b", 1, 8}, Case{"interleaved", 2, 8}, Case{"interleaved", 4, 8},
                        Case{"1f1b", 1, 16}, Case{"interleaved", 2, 16}, Case{"interleaved", 2, 11}})
    measure(world, c, folder.path());
  return 0;
}
