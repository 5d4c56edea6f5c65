#include <numeric>

#include "validation/unit/train/memory_suite.h"

namespace trireme::test {
namespace {

config::Config gpt(std::int64_t tensor, std::int64_t pipeline) {
  config::Config config;
  config.model.layers = 4, config.model.hidden = 1024, config.model.heads = 16, config.model.sequence = 512,
  config.model.vocabulary = 51200;
  config.parallel.tensor = tensor, config.parallel.pipeline = pipeline;
  config.batch.global = 64, config.batch.micro = 2;
  config.parallel.stages.assign(pipeline, config.model.layers / pipeline);
  return config;
}

spec::StageMemory memory(const config::Config& config, int stage, int data, std::vector<int> slots) {
  return stage_memory(config, spec::make_stage_map(config.model, config.parallel), {stage, data, std::move(slots), 1 << 20});
}

// By hand, all sizes multiples of 16: with n = s b a layer keeps 4 full, 12/t split buffers of n h, 4 + a/t of n; a slot adds its
// input and gradient, n h, and two of n; weights are 12 l h^2 / t + ... (spec.np1 counts them).
TEST(StageMemory, ByHand) {
  const config::Config config = gpt(2, 2);
  const std::int64_t n = 1024, h = 1024, t = 2, V = 51200, a = 16, s = 512;
  const std::int64_t layer = n * (4 * h + 12 * h / t + 4 + a / t), slot = 2 * n * h + 2 * n + 2 * layer;
  const std::int64_t weights = 2 * (12 * h * h / t + 7 * h / t + 6 * h) + V / t * h;
  const std::int64_t scratch = n * (2 * h + 4 * h / t + h / t + 3 * h / t), head = n * (2 * h + 6 + V / t);
  const std::int64_t piece = n * h * 4 / 2, limit = 1 << 20;  // tensor, data and tied exceed the limit; the norms are small
  const std::int64_t norms = 3 * 8 * ((t * (2 + 12 * 4 + 2) + 3) / 4);
  ASSERT_GT(piece, limit);
  const auto first = memory(config, 0, 2, {2}), last = memory(config, 1, 2, {1});
  EXPECT_EQ(first.bytes, (std::array<std::int64_t, 7>{4 * (weights + s * h), 4 * (weights + s * h), 8 * (weights + s * h),
                                                      4 * 2 * slot, 4 * scratch, 0, 3 * limit + norms}));
  EXPECT_EQ(last.bytes, (std::array<std::int64_t, 7>{4 * (weights + 2 * h), 4 * (weights + 2 * h), 8 * (weights + 2 * h),
                                                     4 * slot, 4 * (scratch + head), 0, 3 * limit + norms}));
  EXPECT_EQ(first.total(), std::accumulate(first.bytes.begin(), first.bytes.end(), std::int64_t{0}));
}

// Half of every activation, logits among them, and a copy of 2 bytes of each weight more; what is not rounded stays.
TEST(StageMemory, TwoBytesByHand) {
  config::Config config = gpt(2, 2);
  const auto exact = memory(config, 1, 2, {1});
  config.precision.compute = "bf16";
  const auto bf16 = memory(config, 1, 2, {1});
  const std::int64_t n = 1024, h = 1024, t = 2, a = 16, V = 51200, layers = 2;
  const std::int64_t weights = exact[spec::MemoryClass::parameters] / 4;
  EXPECT_EQ(bf16[spec::MemoryClass::parameters], (4 + 2) * weights);
  EXPECT_EQ(bf16[spec::MemoryClass::gradients], exact[spec::MemoryClass::gradients]);
  EXPECT_EQ(bf16[spec::MemoryClass::optimizer], exact[spec::MemoryClass::optimizer]);
  EXPECT_EQ(bf16[spec::MemoryClass::activations],
            exact[spec::MemoryClass::activations] - 2 * (2 * n * h + layers * n * (4 * h + 12 * h / t)));
  EXPECT_EQ(bf16[spec::MemoryClass::activations],
            2 * (2 * n * h + layers * n * (4 * h + 12 * h / t)) + 4 * (2 * n + layers * n * (4 + a / t)));
  EXPECT_EQ(bf16[spec::MemoryClass::scratch],
            exact[spec::MemoryClass::scratch] - 2 * n * (2 * h + 4 * h / t + h / t + 3 * h / t + 2 * h + V / t));
  config.precision.compute = "fp16";
  EXPECT_EQ(memory(config, 1, 2, {1}).bytes, bf16.bytes);
}

TEST(StageMemory, OneStageHasASecondGradientOfTheEmbeddingAndOneRankNoScratch) {
  const auto alone = memory(gpt(1, 1), 0, 1, {1});
  EXPECT_EQ(alone[spec::MemoryClass::gradients] - alone[spec::MemoryClass::parameters], 4 * 51200 * 1024);
  EXPECT_EQ(alone[spec::MemoryClass::communication], 0);
}

// Tensor rank 0 stores the split rows' half and all of what is not split, tensor rank 1 less; over two data ranks the larger run
// is what is counted. Everything stored by all ranks is the model, three times.
TEST(StageMemory, SnapshotIsTheMostThatARankStores) {
  config::Config config = gpt(2, 2);
  config.checkpoint.every = 10;
  const spec::StageMap map = spec::make_stage_map(config.model, config.parallel);
  std::int64_t all = 0;
  for (int stage = 0; stage < 2; ++stage) {
    std::int64_t most = 0;
    for (int tensor = 0; tensor < 2; ++tensor)
      for (int data = 0; data < 2; ++data) {
        const spec::LocalTable table = make_local_table(config.model, map, stage, 2, tensor);
        std::int64_t elements = 0;
        for (const spec::LocalParameter* row : stored_rows(table, 2, data)) elements += row->slice.elements();
        all += elements;
        most = std::max(most, elements);
      }
    const std::int64_t predicted = memory(config, stage, 2, {1})[spec::MemoryClass::snapshot];
    EXPECT_EQ(predicted, 3 * 4 * most);  // sizes are multiples of 16: no gaps
  }
  EXPECT_EQ(all, spec::parameter_count(config.model));
}

TEST(Checkpoint, HoldsWeightsAndTwoMomentsWithoutPadding) {
  config::Model gpt2;
  gpt2.layers = 12, gpt2.hidden = 768, gpt2.heads = 12, gpt2.sequence = 1024, gpt2.vocabulary = 50257;
  EXPECT_EQ(spec::checkpoint_bytes(gpt2), 12 * 124439808LL);  // GPT-2 small's parameters, as published
}

}  // namespace
}  // namespace trireme::test

TRIREME_TEST_MAIN(1)
