// The loss scale by hand: what Megatron-LM's dynamic scaler and PyTorch's GradScaler do with the same overflows.
#include "train/loss_scale.h"

#include <gtest/gtest.h>

#include "validation/unit/support/mpi_main.h"
#include "validation/unit/support/small_run.h"

namespace trireme::train {
namespace {

config::Precision fp16() {
  config::Precision precision;
  precision.compute = "fp16";
  precision.initial_scale = 1024, precision.growth_interval = 3, precision.hysteresis = 2, precision.minimum_scale = 256;
  precision.maximum_skips = 2;
  return precision;
}

/// The scales of the steps that follow each of `steps`: x overflows, anything else is good.
std::vector<double> scales(LossScale& scale, const std::string& steps) {
  std::vector<double> found;
  for (const char step : steps) {
    scale.update(step == 'x');
    found.push_back(scale.scale());
  }
  return found;
}

TEST(LossScale, HalvesAfterTheHysteresisAndAtEachFurtherOverflow) {
  LossScale scale(fp16());
  EXPECT_TRUE(scale.skips());
  EXPECT_EQ(scale.scale(), 1024);
  EXPECT_EQ(scales(scale, "x.x.xx"), (std::vector<double>{1024, 1024, 512, 512, 256, 256}));
  EXPECT_EQ(scale.skipped(), 4);
}

TEST(LossScale, DoublesAfterGoodStepsInARowAndBeginsTheHysteresisAnew) {
  LossScale scale(fp16());
  EXPECT_EQ(scales(scale, "..x..."), (std::vector<double>{1024, 1024, 1024, 1024, 1024, 2048}))
      << "an overflow begins the row anew";
  EXPECT_EQ(scales(scale, "x...xx"), (std::vector<double>{2048, 2048, 2048, 4096, 4096, 2048}));
}

TEST(LossScale, IsExhaustedAfterSkipsInARowAtTheSmallest) {
  LossScale scale(fp16());
  scales(scale, "xxx");  // to 512, then to 256
  EXPECT_EQ(scale.scale(), 256);
  EXPECT_FALSE(scale.exhausted());
  scales(scale, "x.x");
  EXPECT_FALSE(scale.exhausted()) << "a good step between";
  scales(scale, "x");
  EXPECT_TRUE(scale.exhausted());
}

TEST(LossScale, StaysFiniteWhateverGradientsAllow) {
  config::Precision precision = fp16();
  precision.growth_interval = 1;
  LossScale scale(precision);
  scales(scale, std::string(2000, '.'));
  EXPECT_LT(scale.scale(), 0x1p120);
  precision.initial_scale = 0x1p110;
  LossScale large(precision);
  EXPECT_EQ(scales(large, "..").back(), 0x1p110) << "it does not shrink either";
}

TEST(LossScale, OfTheConfigurationStays) {
  config::Precision precision = fp16();
  precision.loss_scale = 128;
  LossScale scale(precision);
  EXPECT_EQ(scales(scale, "...x"), (std::vector<double>{128, 128, 128, 128}));
  EXPECT_FALSE(scale.exhausted());
  EXPECT_EQ(scales(scale, "x").back(), 128);
  EXPECT_TRUE(scale.exhausted()) << "there is no smaller one";
  scale.set({.scale = 4096, .skipped = 7});
  EXPECT_EQ(scale.scale(), 128) << "a checkpoint's was found while training";
  EXPECT_EQ(scale.skipped(), 7);
}

TEST(LossScale, GoesOnFromItsState) {
  LossScale whole(fp16());
  const std::string steps = "x..x...xx.xx....x";
  const std::vector<double> expected = scales(whole, steps);
  for (std::size_t cut = 0; cut <= steps.size(); ++cut) {
    LossScale first(fp16()), second(fp16());
    std::vector<double> found = scales(first, steps.substr(0, cut));
    second.set(*first.state());
    for (const double value : scales(second, steps.substr(cut))) found.push_back(value);
    EXPECT_EQ(found, expected) << cut;
    EXPECT_EQ(second.skipped(), whole.skipped());
  }
}

TEST(LossScale, IsOneInOtherTypesWhichCarryTheStateOn) {
  for (const char* type : {"fp32", "bf16"}) {
    config::Precision precision = fp16();
    precision.compute = type;
    LossScale scale(precision);
    EXPECT_FALSE(scale.skips());
    EXPECT_FALSE(scale.state().has_value()) << "nothing to store";
    scale.update(true);
    EXPECT_EQ(scale.scale(), 1);
    scale.set({.scale = 64, .skipped = 3});
    scale.update(false);
    EXPECT_EQ(scale.scale(), 1);
    EXPECT_EQ(scale.skipped(), 3) << "updates are counted without them";
    EXPECT_EQ(scale.state()->scale, 64);
  }
}

std::vector<float> weights_of(Trainer& trainer) {
  const kernels::View weights = trainer.replica().weights();
  return {weights.fp32(), weights.fp32() + weights.count};
}

// The first update moves weights by the learning rate, or hardly where the gradient is near epsilon: both moments are corrected
// for one update. Corrected for two, m / sqrt(v) would be (0.1 / 0.19) / sqrt(0.05 / 0.0975) = 0.73.
TEST(LossScale, ASkippedStepChangesNothingAndIsNoUpdate) {
  Trainer trainer = test::make_trainer(
      test::world(), test::small_config(1, {"precision.compute=fp16", "precision.initial_scale=1e18", "precision.hysteresis=1",
                                            "optimizer.weight_decay=0", "optimizer.clip=0"}));
  const std::vector<float> before = weights_of(trainer);
  const StepResult first = trainer.step(0);
  EXPECT_TRUE(first.skipped);
  EXPECT_TRUE(first.finite()) << "nothing that a smaller scale would not mend";
  EXPECT_EQ(first.loss_scale, 1e18);
  EXPECT_EQ(first.skipped_steps, 1);
  EXPECT_EQ(weights_of(trainer), before);
  EXPECT_EQ(trainer.updater().loss_scale().scale(), 5e17);
  trainer.updater().loss_scale().set({.scale = 1024, .overflows_left = 1, .skipped = 1});
  const StepResult second = trainer.step(1);
  EXPECT_FALSE(second.skipped);
  EXPECT_EQ(second.skipped_steps, 1);
  float most = 0;
  const std::vector<float> after = weights_of(trainer);
  for (std::size_t i = 0; i < before.size(); ++i) most = std::max(most, std::abs(after[i] - before[i]));
  EXPECT_NEAR(most, 1e-3f, 1e-5f);
}

}  // namespace
}  // namespace trireme::train

TRIREME_TEST_MAIN(1)
