// Checkpoints written by one cut of the model and read by every other; through HDF5's own virtual datasets too. Oracle: the
// formula that made the values, indexed globally; exact, since bits are moved.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <hdf5.h>

#include "validation/unit/support/process.h"
#include "validation/unit/support/small_checkpoint.h"

namespace trireme::test {
namespace {

const Cut cuts[] = {{1, 1, 1}, {2, 1, 1}, {4, 1, 1}, {1, 2, 1}, {2, 2, 1}, {4, 2, 1}, {2, 1, 2}, {1, 4, 3}};

Bits read_slice(const store::CheckpointReader& reader, store::Quantity quantity, const spec::Parameter& parameter,
                const spec::Slice& slice) {
  std::vector<float> values(static_cast<std::size_t>(slice.elements()), 7.0f);
  reader.read({quantity, parameter.name, parameter.shape, slice.start, slice.count, values.data()});
  return words_of(values);
}

void expect_slice(const store::CheckpointReader& reader, const spec::Parameter& parameter, const spec::Slice& slice,
                  std::uint64_t seed) {
  for (const store::Quantity quantity : store::quantities)
    EXPECT_EQ(read_slice(reader, quantity, parameter, slice), expected(quantity, parameter, slice, seed))
        << group_of(quantity) << " " << parameter.name;
}

TEST(StoreLayouts, EveryCutReadsWhatEveryOtherWrote) {
  const Folder folder;
  const config::Model model = small_model(4);
  std::int64_t step = 0;
  for (const Cut& writer : cuts) {
    const store::CheckpointReader reader(write_checkpoint(folder / "checkpoints", model, writer, ++step));
    EXPECT_EQ(all_faults(reader), std::vector<std::string>{}) << writer.name();
    for (const Cut& other : cuts) {
      SCOPED_TRACE(writer.name() + " read by " + other.name());
      int tensors = 0;
      for (int p = 0; p < other.pipeline; ++p)
        for (int d = 0; d < other.data; ++d)
          for (int t = 0; t < other.tensor; ++t)
            for_each_owned(model, other, p, t, d, [&](const spec::Parameter& parameter, const spec::Slice& slice) {
              expect_slice(reader, parameter, slice, static_cast<std::uint64_t>(step));
              ++tensors;
            });
      EXPECT_GE(tensors, std::ssize(reader.manifest().tensors));
    }
  }
}

TEST(StoreLayouts, PartsAreAnyHyperslab) {
  const Folder folder;
  const config::Model model = small_model(1);
  const store::CheckpointReader reader(write_checkpoint(folder.path(), model, {4, 1, 1}, 1));
  for (const spec::Parameter& parameter : spec::model_parameters(model)) {
    spec::Slice slice{{}, {}, 0};  // all but the first and, of longer axes, the last
    for (const std::int64_t extent : parameter.shape) {
      slice.start.push_back(extent > 1 ? 1 : 0);
      slice.count.push_back(std::max<std::int64_t>(extent - 2, 1));
    }
    expect_slice(reader, parameter, slice, 1);
    slice.count.back() = 0;
    EXPECT_NO_THROW(
        reader.read({store::Quantity::parameters, parameter.name, parameter.shape, slice.start, slice.count, nullptr}));
  }
}

TEST(StoreLayouts, WhatIsNotThereIsAMismatch) {
  const Folder folder;
  const store::CheckpointReader reader(write_checkpoint(folder.path(), small_model(1), {}, 1));
  std::vector<float> values(64);
  for (const store::TensorPart& part :
       {store::TensorPart{store::Quantity::parameters, "layers.1.norm1.bias", {8}, {0}, {8}, values.data()},
        store::TensorPart{store::Quantity::parameters, "final_norm.bias", {9}, {0}, {9}, values.data()},
        store::TensorPart{store::Quantity::parameters, "final_norm.bias", {8}, {4}, {8}, values.data()}}) {
    try {
      reader.read(part);
      ADD_FAILURE() << part.name;
    } catch (const base::Error& error) {
      EXPECT_EQ(error.status(), base::Exit::mismatch);
      EXPECT_NE(std::string(error.what()).find("parameters/" + part.name), std::string::npos) << error.what();
    }
  }
}

/// The whole dataset as any HDF5 program reads it.
std::vector<float> plain_read(const std::string& path, const std::string& dataset, std::size_t elements) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t set = H5Dopen2(file, dataset.c_str(), H5P_DEFAULT);
  std::vector<float> values(elements, 7.0f);
  EXPECT_GE(H5Dread(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0) << dataset;
  H5Dclose(set);
  H5Fclose(file);
  return values;
}

TEST(StoreLayouts, TheMasterShowsWholeTensorsAndNaNWhereAShardIsGone) {
  const Folder folder;
  const config::Model model = small_model(2);
  fs::create_directory(folder / "a");
  const std::string first = write_checkpoint(folder / "a/checkpoints", model, {4, 2, 2}, 12);
  fs::rename(folder / "a", folder / "moved");
  const std::string moved = folder / "moved/checkpoints/step-00000012";
  const auto whole = [&](store::Quantity quantity, const spec::Parameter& parameter) {
    const spec::Slice all{store::Shape(parameter.shape.size(), 0), parameter.shape, 0};
    const auto values = plain_read(moved + "/checkpoint.h5", group_of(quantity) + "/" + parameter.name, parameter.elements());
    return std::pair(words_of(values), expected(quantity, parameter, all, 12));
  };
  for (const spec::Parameter& parameter : spec::model_parameters(model))
    for (const store::Quantity quantity : store::quantities) {
      const auto [found, right] = whole(quantity, parameter);
      EXPECT_EQ(found, right) << parameter.name;
    }
  EXPECT_EQ(all_faults(store::CheckpointReader(moved)), std::vector<std::string>{});

  fs::remove(moved + "/shard-p000-t001-d000.h5");  // rows 128 to 255 of the embedding
  const auto [found, right] = whole(store::Quantity::parameters, spec::model_parameters(model)[0]);
  for (std::size_t k = 0; k < found.size(); ++k) {
    const float value = std::bit_cast<float>(found[k]);
    if (k / 8 >= 128 && k / 8 < 256)
      EXPECT_TRUE(std::isnan(value)) << k;
    else
      EXPECT_EQ(found[k], right[k]) << k;
  }
}

TEST(StoreLayouts, TheProgramDoesNotReadThroughTheMaster) {
  const Folder folder;
  const config::Model model = small_model(1);
  const std::string right = write_checkpoint(folder / "right", model, {2, 1, 1}, 1);
  const std::string decoy = write_checkpoint(folder / "decoy", model, {2, 1, 1}, 2);
  fs::remove(right + "/checkpoint.h5");
  ASSERT_EQ(setenv("HDF5_VDS_PREFIX", decoy.c_str(), 1), 0);
  const store::CheckpointReader reader(right);
  for (const spec::Parameter& parameter : spec::model_parameters(model))
    expect_slice(reader, parameter, {store::Shape(parameter.shape.size(), 0), parameter.shape, 0}, 1);
  unsetenv("HDF5_VDS_PREFIX");
}

}  // namespace
}  // namespace trireme::test
