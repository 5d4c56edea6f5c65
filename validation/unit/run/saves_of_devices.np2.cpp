// A save is the state of its step, with and without a snapshot, whether the host reads the device's memory in place or not.
// Oracle: the state copied when the save began.
#include "run/checkpoint_writer.h"
#include "store/checkpoint_folder.h"
#include "store/checkpoint_reader.h"
#include "validation/unit/support/counting_device.h"
#include "validation/unit/support/mpi_main.h"
#include "validation/unit/support/process.h"
#include "validation/unit/support/small_run.h"

namespace trireme::test {
namespace {

using store::Quantity;
using Values = std::vector<float>;

Values values_of(kernels::View v) { return {v.fp32(), v.fp32() + v.count}; }

void expect_saved(const std::string& folder, const spec::LocalTable& table, Quantity quantity, const Values& expected) {
  const store::CheckpointReader reader(folder);
  for (const spec::LocalParameter& row : table.rows) {
    const spec::Parameter& parameter = table.parameter(row);
    Values read(static_cast<std::size_t>(row.slice.elements()));
    reader.read({quantity, parameter.name, parameter.shape, row.slice.start, row.slice.count, read.data()});
    EXPECT_TRUE(std::equal(read.begin(), read.end(), expected.begin() + row.offset)) << parameter.name;
  }
}

void save(bool host, bool snapshot) {
  Counts counts;
  train::Backend backend;
  if (!host) backend.device = std::make_unique<CountingDevice>(counts);
  const config::Config config =
      small_config(world().size(), {"parallel.tensor=2", "checkpoint.every=" + std::to_string(snapshot ? 1 : 0)});
  train::Trainer trainer = make_trainer(world(), config, std::move(backend));
  trainer.step(0);
  const train::TrainingState state = trainer.state();
  const Values weights = values_of(state.weights), first = values_of(state.first_moment), second = values_of(state.second_moment);
  const Folder folder;  // rank 0's is used
  std::string path = folder.path();
  world().everyone().broadcast(path);
  run::CheckpointWriter writer(state, {path, "", config.batch.global, 0, {}}, trainer.replica().device(), trainer.grid(),
                               trainer.layout().memory[0][spec::MemoryClass::snapshot]);
  counts = {};
  writer.save(1);
  EXPECT_EQ(counts.reads > 0, !host);
  EXPECT_EQ(writer.arena().peak_bytes() > 0, snapshot);
  trainer.step(1);  // changes all of it
  writer.finish();
  world().everyone().barrier();
  path += "/" + store::step_folder_name(1);
  expect_saved(path, state.table, Quantity::parameters, weights);
  expect_saved(path, state.table, Quantity::first_moment, first);
  expect_saved(path, state.table, Quantity::second_moment, second);
  world().everyone().barrier();
}

TEST(SavesOfDevices, AreTheStateOfTheirStep) {
  for (const bool host : {true, false})
    for (const bool snapshot : {false, true}) {
      SCOPED_TRACE(fmt::format("host {}, snapshot {}", host, snapshot));
      save(host, snapshot);
    }
}

}  // namespace
}  // namespace trireme::test

TRIREME_TEST_MAIN(2)
