// The pipeline bubble, measured: the executor runs real schedules and messages, but the kernels only sleep, so that two cores can
// stand for as many as there are ranks. Every layer sleeps F = 30 ms forward and 2 F backward. Against section 2.2 of
// arXiv 2104.04473: (p-1)/m for gpipe and 1f1b, (p-1)/(v m) interleaved, in times of the work.
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "base/clock.h"
#include "schedule/timing.h"
#include "validation/unit/small_run.h"

namespace {

using namespace trireme;
using namespace trireme::kernels;

constexpr double forward_seconds = 0.030, backward_seconds = 0.060;  // of one layer

void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// Computes nothing; attention takes the time of its layer.
class SleepingKernels : public Kernels {
 public:
  void linear(LinearShape, View, View, View, View) override {}
  void linear_gelu(LinearShape, View, View, View, View, View) override {}
  void linear_residual(LinearShape, Rows, View, View, View, Dropout, View, View) override {}
  void linear_input_gradient(LinearShape, View, View, View) override {}
  void linear_input_gradient_gelu(LinearShape, View, View, View, View) override {}
  void linear_weight_gradient(LinearShape, View, View, View, View) override {}
  void bias_residual(Rows, std::int64_t, View, View, Dropout, View, View) override {}
  void bias_residual_backward(Rows, std::int64_t, View, Dropout, View, View) override {}
  void layer_norm(std::int64_t, std::int64_t, View, View, View, View, View, View) override {}
  void residual_layer_norm(Rows, std::int64_t, View, View, Dropout, View, View, View, View, View, View, View) override {}
  void layer_norm_backward(std::int64_t, std::int64_t, View, View, View, View, View, View, View, View, View) override {}
  void attention(AttentionShape, View, Dropout, View, View) override { sleep(forward_seconds); }
  void attention_backward(AttentionShape, View, View, View, View, Dropout, View) override { sleep(backward_seconds); }
  void embedding(Rows, std::int64_t, View, View, VocabularyRange, View, Dropout, View) override {}
  void dropout(Rows, std::int64_t, View, Dropout, View) override {}
  void embedding_backward(Rows, std::int64_t, View, View, VocabularyRange, View, View) override {}
  void cross_entropy_maximum(std::int64_t, View, VocabularyRange, View) override {}
  void cross_entropy_sums(std::int64_t, View, VocabularyRange, View, View, View, View) override {}
  void cross_entropy_gradient(std::int64_t, View, VocabularyRange, View, View, View, float, View) override {}
  void adamw(AdamW, View, View, View, View) override {}
  void add(View, View) override {}
  double squared_norm(View) override { return 0; }
  double sum(View) override { return 0; }
  std::int64_t non_finite_count(View) override { return 0; }
};

struct Case {
  std::string schedule;
  int chunks, microbatches;
};

/// Layers of equal cost, as many in each chunk.
config::Config configuration(const Case& c, int stages) {
  std::string cut;
  for (int k = 0; k < stages * c.chunks; ++k) cut += k ? ",1" : "1";
  return test::small_config(stages, {"model.hidden=8", "model.heads=1", "model.sequence=4", "parallel.stages=" + cut,
                                     fmt::format("model.layers={}", stages * c.chunks),
                                     fmt::format("parallel.pipeline={}", stages), fmt::format("parallel.virtual={}", c.chunks),
                                     "parallel.schedule=" + c.schedule, fmt::format("batch.global={}", c.microbatches)});
}

double step_seconds(train::Trainer& trainer, grid::World& world, std::int64_t step) {
  world.barrier();
  const double begin = base::now();
  trainer.step(step);
  world.barrier();
  return base::now() - begin;
}

/// As the executor measured it: a sleep is a little longer than asked for.
double work_seconds(grid::World& world) {
  return world.activity().seconds(grid::Work::forward) + world.activity().seconds(grid::Work::backward);
}

void measure(grid::World& world, const Case& c) {
  train::Trainer trainer = test::make_trainer(world, configuration(c, world.size()), std::make_unique<SleepingKernels>());
  step_seconds(trainer, world, 0);
  const double slept = work_seconds(world);
  const double seconds = step_seconds(trainer, world, 1);
  const double work = world.sum(work_seconds(world) - slept) / world.size();
  if (world.rank() == 0)
    fmt::print("{:<12}{:>4}{:>4}{:>4}{:>12.0f}{:>12.0f}{:>12.4f}{:>12.4f}\n", c.schedule, world.size(), c.chunks, c.microbatches,
               work * 1e3, seconds * 1e3, seconds / work - 1, schedule::bubble_formula(trainer.schedule()));
}

}  // namespace

int main() {
  grid::World world;
  if (world.rank() == 0)
    fmt::print("{:<12}{:>4}{:>4}{:>4}{:>12}{:>12}{:>12}{:>12}\n", "schedule", "p", "v", "m", "work ms", "step ms", "bubble",
               "formula");
  for (const Case& c : {Case{"gpipe", 1, 8}, Case{"1f1b", 1, 8}, Case{"interleaved", 2, 8}, Case{"interleaved", 4, 8},
                        Case{"1f1b", 1, 16}, Case{"interleaved", 2, 16}, Case{"interleaved", 2, 11}})
    measure(world, c);
  return 0;
}
