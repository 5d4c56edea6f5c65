// Learning rate, clipping, initial weights, evaluation schedules: pure rules against numbers by hand.
#include <cmath>

#include <gtest/gtest.h>

#include "base/philox.h"
#include "kernels/device.h"
#include "layout/layout.h"
#include "train/executor.h"
#include "train/initialize.h"
#include "train/optimizer.h"
#include "validation/unit/support/views.h"

namespace trireme::train {
namespace {

config::Optimizer optimizer(double maximum, double minimum, std::int64_t warmup, std::int64_t decay) {
  config::Optimizer o;
  o.learning_rate = maximum, o.min_learning_rate = minimum, o.warmup_steps = warmup, o.decay_steps = decay;
  return o;
}

TEST(LearningRate, WarmsUpThenFollowsHalfACosineThenStays) {
  const auto o = optimizer(1.0, 0.2, 4, 12);
  EXPECT_DOUBLE_EQ(learning_rate(o, 0), 0.25);
  EXPECT_DOUBLE_EQ(learning_rate(o, 3), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate(o, 7), 0.6);                               // half way: (k + 1 - W) / (D - W) = 1/2
  EXPECT_DOUBLE_EQ(learning_rate(o, 5), 0.2 + 0.4 * (1 + std::sqrt(0.5)));  // a quarter of the way: cos(pi/4)
  EXPECT_DOUBLE_EQ(learning_rate(o, 11), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(o, 1000), 0.2);
}

TEST(LearningRate, IsConstantWithoutDecay) {
  EXPECT_DOUBLE_EQ(learning_rate(optimizer(0.5, 0, 0, 0), 0), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(optimizer(0.5, 0, 2, 0), 0), 0.25);
  EXPECT_DOUBLE_EQ(learning_rate(optimizer(0.5, 0, 2, 0), 99), 0.5);
}

class Initial : public testing::Test {
 protected:
  Initial() { model_.layers = 3, model_.hidden = 24, model_.heads = 6, model_.sequence = 10, model_.vocabulary = 200; }

  std::vector<float> weights(const spec::LocalTable& table) {
    std::vector<float> buffer(table.elements);
    initialize_weights(table, 7, *device_, test::view(buffer));
    return buffer;
  }
  spec::LocalTable table(int p, int stage, int t, int rank) {
    config::Parallel parallel;
    parallel.pipeline = p;
    return spec::make_local_table(model_, spec::make_stage_map(model_, parallel), stage, t, rank);
  }

  config::Model model_;
  std::unique_ptr<kernels::Device> device_ = kernels::make_cpu_device();
};

TEST_F(Initial, IsTheSameFunctionOfNameAndElementOnEveryLayout) {
  const auto whole = table(1, 0, 1, 0);
  const auto reference = weights(whole);
  for (const int t : {2, 3})
    for (int stage = 0; stage < 3; ++stage)
      for (int rank = 0; rank < t; ++rank) {
        const auto part = table(3, stage, t, rank);
        const auto ours = weights(part);
        for (const auto& row : part.rows) {
          const spec::Parameter& parameter = part.parameter(row);
          const auto starts = global_offsets(parameter, row.slice);
          const std::int64_t run = row.slice.count.back(), base = whole.find(parameter.name)->offset;
          for (std::int64_t k = 0; k < row.slice.elements(); ++k)
            ASSERT_EQ(ours[row.offset + k], reference[base + starts[k / run] + k % run]) << parameter.name;
          for (std::int64_t k = row.slice.elements(); k < row.elements; ++k) ASSERT_EQ(ours[row.offset + k], 0) << "padding";
        }
      }
}

TEST_F(Initial, HasGpt2sMomentsAndResidualScale) {
  const auto whole = table(1, 0, 1, 0);
  const auto values = weights(whole);
  for (const auto& row : whole.rows) {
    const spec::Parameter& parameter = whole.parameter(row);
    const bool residual = parameter.name.ends_with("output.weight") || parameter.name.ends_with("down.weight");
    const double sigma = parameter.decay ? (residual ? 0.02 / std::sqrt(6.0) : 0.02) : 0.0;
    const double mean = parameter.name.find("norm") != std::string::npos && parameter.name.ends_with("weight") ? 1 : 0;
    const double n = static_cast<double>(parameter.elements());
    double sum = 0, squares = 0;
    for (std::int64_t k = 0; k < parameter.elements(); ++k) sum += values[row.offset + k];
    for (std::int64_t k = 0; k < parameter.elements(); ++k) squares += std::pow(values[row.offset + k] - sum / n, 2);
    // 5 standard errors of the mean and of the deviation.
    EXPECT_NEAR(sum / n, mean, 5 * sigma / std::sqrt(n) + 1e-12) << parameter.name;
    EXPECT_NEAR(std::sqrt(squares / n), sigma, 5 * sigma / std::sqrt(2 * n) + 1e-12) << parameter.name;
  }
}

TEST(ForwardOnly, KeepsTheForwardPassesAndTheirMessages) {
  const auto all = make_schedule(schedule::Kind::one_f_one_b, 3, 1, 5);
  auto channels = derive_messages(all).channels;
  const layout::Program program = layout::make_program(layout::forward_only(all), channels);
  for (const auto& actions : program.schedule.actions) {
    ASSERT_EQ(actions.size(), 5u);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(actions[i], (schedule::Action{schedule::Act::forward, i, 0}));
  }
  ASSERT_EQ(program.messages.channels.size(), 2u);
  for (std::size_t k = 0; k < 2; ++k) EXPECT_EQ(channels[program.channels[k]], program.messages.channels[k]);
}

}  // namespace
}  // namespace trireme::train
