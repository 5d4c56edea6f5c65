// Memory and traffic as predicted (spec/memory.h, spec/traffic.h) against what a Trainer really takes and sends, on every layout
// of this many ranks, with and without evaluation. Oracles: Arena::peak_bytes, the communicators' scratch and their counts of
// bytes. Exact: both sides are whole numbers of bytes.
#pragma once

#include <array>

#include <gtest/gtest.h>

#include "grid/mpi_communicator.h"
#include "layout/layout.h"
#include "run/checkpoint_writer.h"
#include "spec/memory.h"
#include "spec/traffic.h"
#include "validation/unit/support/layouts.h"
#include "validation/unit/support/mpi_main.h"
#include "validation/unit/support/small_run.h"

namespace trireme::test {

using Values = std::vector<std::string>;  // that override small_config's

/// All sizes divide by 8, so that all members of a group send the same.
inline const Values even_model = {"model.layers=8", "model.hidden=64", "model.heads=8", "batch.global=16"};
/// Sizes that leave gaps between buffers, unequal pieces in reductions, a padded vocabulary and a last rank of padding alone.
inline const Values odd_model = {"model.layers=6",   "model.hidden=24",      "model.heads=12",
                                 "model.sequence=7", "model.vocabulary=301", "model.dropout=0.1",
                                 "batch.global=24",  "batch.micro=3",        "checkpoint.every=1"};

inline std::int64_t scratch_of(grid::Communicator& group) { return dynamic_cast<grid::MpiCommunicator&>(group).scratch_bytes(); }

class SpecMemory : public testing::Test {
 protected:
  static void compare(const Values& model, const Values& more, bool equal_pieces) {
    Values values = model;
    values.insert(values.end(), more.begin(), more.end());
    const config::Config config = small_config(world().size(), values);
    train::Trainer trainer = make_trainer(world(), config);
    const int stage = trainer.grid().at().pipeline;
    const spec::StageMemory predicted = layout::make_layout(config, world().size()).memory[stage];
    const run::CheckpointWriter writer(trainer.state(), {}, trainer.replica().device(), trainer.grid(),
                                       predicted[spec::MemoryClass::snapshot]);
    auto arenas = trainer.arenas();
    arenas.push_back({spec::MemoryClass::snapshot, &writer.arena()});
    EXPECT_EQ(arenas.size(), spec::memory_classes.size() - 1) << "all but communication";
    for (const auto& [memory, arena] : arenas) {
      EXPECT_EQ(arena->name(), name_of(memory));
      EXPECT_EQ(predicted[memory], arena->peak_bytes()) << arena->name() << ", stage " << stage;
    }
    compare_step(config, trainer, equal_pieces);
    if (config.run.evaluate_every > 0) trainer.evaluate();
    grid::Grid& grid = trainer.grid();
    std::int64_t scratch = scratch_of(grid.tensor()) + scratch_of(grid.data()) + scratch_of(grid.model());
    if (grid.has_tied()) scratch += scratch_of(grid.tied());
    EXPECT_EQ(predicted[spec::MemoryClass::communication], scratch) << "communication, stage " << stage;
  }

  static void compare_step(const config::Config& config, train::Trainer& trainer, bool equal_pieces) {
    const grid::TrafficTable before = world().traffic();
    trainer.step(0);
    const grid::Coordinates at = trainer.grid().at();
    if (!equal_pieces && (at.tensor > 0 || at.data > 0)) return;
    const auto predicted = stage_traffic(config, trainer.layout().stage_map, at.pipeline, trainer.grid().shape().data).kinds();
    std::int64_t sum = 0, sent = 0;
    for (std::size_t k = 0; k < grid::traffic_names.size(); ++k) {
      if (grid::traffic_names[k] == "control") continue;
      const std::int64_t measured = world().traffic().kinds[k].bytes - before.kinds[k].bytes;
      sent += measured;
      for (const auto& [name, bytes] : predicted) {
        if (name != grid::traffic_names[k]) continue;
        EXPECT_EQ(bytes, measured) << name << ", rank " << world().rank();
      }
    }
    for (const auto& [name, bytes] : predicted) sum += bytes;
    EXPECT_EQ(sum, sent) << "a kind is missing";
  }

  static void every_layout(const Values& model, bool equal_pieces) {
    const config::Config serial = small_config(1, model);
    const auto all = layouts(serial, world().size());
    ASSERT_FALSE(all.empty());
    const std::array evaluations_tried = {0, 1, 5};  // microbatches: forward passes alone need fewer buffers, or more
    for (std::size_t k = 0; k < all.size(); ++k)
      for (std::size_t e = 0; e < evaluations_tried.size(); ++e) {
        if (world().size() == 8 && e != k % evaluations_tried.size()) continue;  // in turn: 8 ranks on few cores are slow
        const Layout& layout = all[k];
        const int evaluations = evaluations_tried[e];
        SCOPED_TRACE(fmt::format("{}, {} microbatches evaluated", layout.name(), evaluations));
        Values values = layout.overrides();
        values.push_back(fmt::format("run.evaluate_every={}", evaluations > 0 ? 1 : 0));
        values.push_back(fmt::format("run.evaluate_samples={}", std::max(1, evaluations) * serial.batch.micro * layout.data));
        compare(model, values, equal_pieces);
      }
  }
};

/// `values` with another compute type.
inline Values with_compute(Values values, const char* type) {
  values.push_back(std::string("precision.compute=") + type);
  return values;
}

TEST_F(SpecMemory, IsWhatATrainerTakesAndSendsInTwoBytes) {
  every_layout(with_compute(even_model, "fp16"), true);
  every_layout(with_compute(odd_model, "bf16"), false);
}
TEST_F(SpecMemory, IsWhatATrainerTakesAndSendsWithEvenSizes) { every_layout(even_model, true); }
TEST_F(SpecMemory, IsWhatATrainerTakesAndSendsWithOddSizes) { every_layout(odd_model, false); }

}  // namespace trireme::test
