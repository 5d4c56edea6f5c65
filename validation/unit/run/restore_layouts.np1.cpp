// Any layout reads what any other wrote: ten layouts of 1, 2, 4 and 8 ranks train a step and save; every one of them, its ranks
// played one after another, loads each of these checkpoints and saves it again. Oracles: the weights as the run wrote them to a
// .safetensors file by another way; the moments by AdamW's formulas after one step; bits throughout.
#include <cmath>

#include <gtest/gtest.h>

#include "config/reader.h"
#include "grid/grid.h"
#include "run/resume.h"
#include "store/checkpoint_folder.h"
#include "store/gpt2_names.h"
#include "store/shard.h"
#include "validation/unit/support/layouts.h"
#include "validation/unit/support/overrides.h"
#include "validation/unit/support/run_files.h"
#include "validation/unit/support/views.h"

namespace trireme::test {
namespace {

using store::Quantity;
using Values = std::vector<float>;

/// V = 301 leaves padding on tensor ranks, all of one of four.
const std::vector<std::string> model = {"model.layers=4",       "model.hidden=24", "model.heads=4", "model.sequence=8",
                                        "model.vocabulary=301", "batch.global=8",  "run.steps=1",   "optimizer.weight_decay=0"};

const std::vector<Layout> ten = {{1, 1, 1, "1f1b"}, {2, 1, 1, "1f1b"}, {1, 2, 1, "gpipe"},          {1, 1, 2, "1f1b"},
                                 {4, 1, 1, "1f1b"}, {2, 2, 1, "1f1b"}, {1, 2, 2, "interleaved", 2}, {2, 2, 2, "1f1b"},
                                 {1, 4, 2, "1f1b"}, {4, 1, 2, "1f1b"}};

config::Config configuration(const Layout& layout) {
  std::vector<std::string> values = model;
  for (const std::string& value : layout.overrides()) values.push_back(value);
  return config::read_config("input/tiny.toml", read_text("input/tiny.toml"), values).config;
}

/// All tensors of a checkpoint, whole, in table order, a quantity after another.
std::vector<Values> tensors_of(const store::CheckpointReader& reader) {
  std::vector<Values> all;
  for (const Quantity quantity : store::quantities)
    for (const auto& [name, shape] : reader.manifest().tensors) {
      all.emplace_back(store::elements_of(shape));
      reader.read({quantity, name, shape, store::Shape(shape.size(), 0), shape, all.back().data()});
    }
  return all;
}

/// What one rank of `layout` loads, and then stores in `partial`.
store::FileRecord pass_through(const store::CheckpointReader& from, const Layout& layout, int rank, const std::string& partial) {
  const config::Config config = configuration(layout);
  const grid::Shape shape{layout.tensor, layout.data, layout.pipeline};
  const grid::Coordinates at = grid::coordinates_of(shape, rank);
  const spec::StageMap map = spec::make_stage_map(config.model, config.parallel);
  const spec::LocalTable table = make_local_table(config.model, map, at.pipeline, layout.tensor, at.tensor);
  Values buffers[3];
  for (Values& buffer : buffers) buffer.assign(table.elements, -1.0f);
  const auto device = kernels::make_cpu_device();
  train::LossScale scale(config.precision);
  run::load_state(from, {table, view(buffers[0]), view(buffers[1]), view(buffers[2]), scale}, true, *device);
  std::vector<store::TensorPart> parts;
  for (const Quantity quantity : store::quantities)
    for (const spec::LocalParameter* row : stored_rows(table, layout.data, at.data)) {
      const spec::Parameter& parameter = table.parameter(*row);
      parts.push_back({quantity, parameter.name, parameter.shape, row->slice.start, row->slice.count,
                       buffers[static_cast<int>(quantity)].data() + row->offset});
    }
  return write_shard(partial, {"again", 1, at.pipeline, at.tensor, at.data}, parts);
}

class RestoreLayouts : public testing::Test {
 protected:
  std::string saved_by(const Layout& layout) {
    const std::string directory = folder_ / layout.name();
    std::vector<std::string> words = {"train", "input/tiny.toml", "run.directory=" + directory,
                                      "run.final_weights=" + directory + ".safetensors"};
    for (const auto& values : {model, layout.overrides()}) words.insert(words.end(), values.begin(), values.end());
    const Result result = run(on_ranks(layout.tensor * layout.pipeline * layout.data, words));
    EXPECT_EQ(result.status, 0) << result.err;
    return store::find_checkpoint(directory);
  }
  Folder folder_;
};

TEST_F(RestoreLayouts, AllOrderedPairsOfTenLayoutsKeepEveryBit) {
  for (const Layout& writer : ten) {
    SCOPED_TRACE("written by " + writer.name());
    const store::CheckpointReader first(saved_by(writer));
    const std::vector<Values> tensors = tensors_of(first);
    const std::size_t count = first.manifest().tensors.size();

    const auto table = spec::model_parameters(configuration(writer).model);
    const store::Gpt2Weights file(folder_ / writer.name() + ".safetensors", table);
    ASSERT_EQ(table.size(), count);
    for (std::size_t k = 0; k < count; ++k) {
      Values expected(tensors[k].size());
      file.read(table[k], spec::slice_of(table[k], 1, 0), expected.data());
      EXPECT_EQ(tensors[k], expected) << table[k].name;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        // m = (1 - beta1) g, v = (1 - beta2) g^2 after one step: v = 0.05 / 0.1^2 m^2. 1e-5: some roundings of float32; the
        // least normal number is absolute.
        const double m = tensors[count + k][i], v = tensors[2 * count + k][i];
        ASSERT_NEAR(v, 5 * m * m, 1e-5 * v + 1e-37) << table[k].name << " " << i;
      }
    }
    for (const Layout& reader : ten) {
      const std::string again = folder_ / "again";
      const std::string partial = store::create_partial(again, 1);
      store::Manifest manifest = first.manifest();
      manifest.run_id = "again";
      manifest.files.clear();
      for (int rank = 0; rank < reader.tensor * reader.pipeline * reader.data; ++rank)
        manifest.files.push_back(pass_through(first, reader, rank, partial));
      EXPECT_TRUE(tensors_of(store::CheckpointReader(publish(partial, manifest))) == tensors) << "read by " << reader.name();
      fs::remove_all(again);
    }
  }
}

/// Real runs that go on in another layout, against the serial run that was not interrupted.
TEST_F(RestoreLayouts, ARunGoesOnInAnyOtherLayout) {
  const std::vector<std::pair<Layout, Layout>> moves = {{ten[0], ten[7]}, {ten[7], ten[0]}, {ten[9], ten[6]}, {ten[6], ten[4]}};
  const auto go = [&](const std::string& directory, const Layout& layout, int steps) {
    std::vector<std::string> words = {"train", "input/tiny.toml", "run.directory=" + directory};
    for (const auto& values : {model, layout.overrides()}) words.insert(words.end(), values.begin(), values.end());
    words = with_values(words, {fmt::format("run.steps={}", steps)});
    const Result result = run(on_ranks(layout.tensor * layout.pipeline * layout.data, words));
    EXPECT_EQ(result.status, 0) << layout.name() << result.err;
    return column(read_text(directory + "/metrics.csv"), 3);
  };
  const auto whole = go(folder_ / "whole", ten[0], 4);
  ASSERT_EQ(whole.size(), 4u);
  for (const auto& [before, after] : moves) {
    const std::string directory = folder_ / before.name() + after.name();
    go(directory, before, 2);
    const auto losses = go(directory, after, 4);
    ASSERT_EQ(losses.size(), 4u) << after.name();
    // 1e-5: float32 sums in another order (train_layouts).
    for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(std::stod(losses[k]) / std::stod(whole[k]), 1, 1e-5) << after.name();
  }
}

}  // namespace
}  // namespace trireme::test
