// Snapshot bytes of a stage (spec/memory.h) on odd shapes. Oracle: a walk over the rows of every tensor and data rank.
#include <algorithm>

#include <gtest/gtest.h>

#include "spec/memory.h"

namespace trireme::spec {
namespace {

/// The most that any rank stores of weights and two moments, fp32, each row from a multiple of 64 bytes on.
std::int64_t walked(const config::Config& config, const StageMap& map, int stage, int data) {
  const int t = static_cast<int>(config.parallel.tensor);
  std::int64_t most = 0;
  for (int tensor = 0; tensor < t; ++tensor) {
    const LocalTable table = make_local_table(config.model, map, stage, t, tensor);
    for (int rank = 0; rank < data; ++rank) {
      std::int64_t bytes = 0;
      for (const LocalParameter* row : stored_rows(table, data, rank)) bytes += (4 * row->slice.elements() + 63) / 64 * 64;
      most = std::max(most, 3 * bytes);
    }
  }
  return most;
}

config::Config odd(std::int64_t vocabulary, int tensor, int pipeline, int chunks) {
  config::Config config;
  config.model.layers = 7, config.model.hidden = 60, config.model.heads = 60, config.model.sequence = 11;
  config.model.vocabulary = vocabulary;
  config.parallel.tensor = tensor, config.parallel.pipeline = pipeline, config.parallel.chunks = chunks;
  config.batch.micro = 3, config.checkpoint.every = 1;
  return config;
}

// The token embedding lies whole on one rank, on some with a rank that holds a part of its rows, or with ranks of padding alone;
// with many data ranks some store nothing.
TEST(Snapshot, IsTheMostThatAWalkOverAllRanksFinds) {
  for (const std::int64_t vocabulary : {1, 127, 128, 129, 256, 301, 640, 769, 5000})
    for (const int tensor : {1, 2, 3, 5, 6})
      for (const auto& [pipeline, chunks] : {std::pair{1, 1}, {2, 1}, {7, 1}, {2, 3}})
        for (const int data : {1, 2, 3, 7, 40, 200}) {
          const config::Config config = odd(vocabulary, tensor, pipeline, chunks);
          const StageMap map = make_stage_map(config.model, config.parallel);
          for (int stage = 0; stage < pipeline; ++stage) {
            const std::vector<int> slots(static_cast<std::size_t>(chunks), 1);
            const StageMemory memory = stage_memory(config, map, {stage, data, slots, 1 << 20});
            ASSERT_EQ(memory[MemoryClass::snapshot], walked(config, map, stage, data))
                << "V = " << vocabulary << " t = " << tensor << " p = " << pipeline << " v = " << chunks << " d = " << data
                << " stage " << stage;
          }
        }
}

TEST(Snapshot, IsNothingWithoutCheckpoints) {
  config::Config config = odd(301, 2, 1, 1);
  config.checkpoint.every = 0;
  EXPECT_EQ(stage_memory(config, make_stage_map(config.model, config.parallel), {0, 2, {1}, 1 << 20})[MemoryClass::snapshot], 0);
}

}  // namespace
}  // namespace trireme::spec
