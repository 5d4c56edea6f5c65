// Shards whose values are not where and what the manifest says, although every checksum is right: another program could have made
// them. Oracle: files built here by the HDF5 library alone, which any reader that trusts the library takes.
#include <array>
#include <functional>
#include <numeric>

#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/hash.h"
#include "store/frame.h"
#include "validation/unit/support/expect_error.h"
#include "validation/unit/support/process.h"
#include "validation/unit/support/small_checkpoint.h"

namespace trireme::test {
namespace {

using namespace store;

constexpr const char* dataset = "parameters/final_norm.bias";
constexpr std::size_t elements = 8;

std::array<float, elements> made_values() {
  std::array<float, elements> values;
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

/// A dataset of the values 1 to 8 in `file`, stored as `type` in the given layout, with the attributes of a slice.
void make(hid_t file, const char* name, hid_t type, hid_t layout) {
  const hsize_t extent = elements, one = 1;
  const hid_t space = H5Screate_simple(1, &extent, nullptr), single = H5Screate_simple(1, &one, nullptr);
  const hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, layout, H5P_DEFAULT);
  ASSERT_GE(set, 0) << name;
  EXPECT_GE(H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, made_values().data()), 0);
  const std::int64_t start = 0, shape = elements;
  for (const auto& [attribute, value] : {std::pair{"start", &start}, std::pair{"shape", &shape}}) {
    const hid_t made = H5Acreate2(set, attribute, H5T_STD_I64LE, single, H5P_DEFAULT, H5P_DEFAULT);
    EXPECT_GE(H5Awrite(made, H5T_NATIVE_INT64, value), 0);
    H5Aclose(made);
  }
  H5Dclose(set), H5Sclose(space), H5Sclose(single);
}

hid_t layout_of(const std::function<void(hid_t)>& set) {
  const hid_t layout = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_alloc_time(layout, H5D_ALLOC_TIME_EARLY);
  set(layout);
  return layout;
}

hid_t chunks() {
  return layout_of([](hid_t layout) {
    const hsize_t four = 4;
    H5Pset_chunk(layout, 1, &four);
  });
}

hid_t deflated() {
  const hid_t layout = chunks();
  H5Pset_deflate(layout, 6);
  return layout;
}

hid_t external(const std::string& file) {
  return layout_of([&](hid_t layout) { H5Pset_external(layout, file.c_str(), 0, 4 * elements); });
}

class PlainValues : public testing::Test {
 protected:
  PlainValues() {
    write_checkpoint(folder_.path(), model_, {}, 1);
    const hid_t other = H5Fcreate(other_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(H5Gcreate2(other, "parameters", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    make(other, dataset, H5T_IEEE_F32LE, H5P_DEFAULT);
    H5Fclose(other);
  }

  /// Lets `change` remake the dataset, and the manifest tell the truth about all bytes and the values 1 to 8.
  void forge(const std::function<void(hid_t)>& change) {
    Manifest manifest = CheckpointReader(step_).manifest();
    FileRecord& record = manifest.files[0];
    const hid_t file = H5Fopen(shard_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    ASSERT_GE(file, 0);
    H5Ldelete(file, dataset, H5P_DEFAULT);
    change(file);
    ASSERT_GE(H5Fclose(file), 0);
    record.bytes = static_cast<std::int64_t>(fs::file_size(shard_));
    for (SliceRecord& slice : record.slices)
      if (slice.dataset() == dataset) {
        const auto values = made_values();
        slice.checksum = base::hash64(std::as_bytes(std::span(values)));
      }
    record.frame = frame_checksum(shard_, record);
    base::write_file_atomically(step_ + "/manifest.json", to_json(manifest));
  }
  void expect_fault(const std::string& says) {
    const CheckpointReader reader(step_);
    const auto faults = reader.verify_file(0);
    ASSERT_EQ(faults.size(), 1u);
    EXPECT_NE(faults[0].find(shard_), std::string::npos) << faults[0];
    EXPECT_NE(faults[0].find(says), std::string::npos) << faults[0];
    std::array<float, elements> read;
    expect_error(base::Exit::mismatch, {shard_, says}, [&] {
      reader.read({Quantity::parameters, "final_norm.bias", {elements}, {0}, {elements}, read.data()});
    });
  }

  const Folder folder_;
  const config::Model model_ = small_model(1);
  const std::string step_ = folder_ / "step-00000001", shard_ = step_ + "/shard-p000-t000-d000.h5", other_ = step_ + "/other.h5";
};

TEST_F(PlainValues, OtherLayoutsAreRefused) {
  const std::string values = step_ + "/values";
  for (const hid_t layout : {chunks(), deflated(), external(values)}) {
    forge([&](hid_t file) { make(file, dataset, H5T_IEEE_F32LE, layout); });
    expect_fault("its values are not one block of this file");
    H5Pclose(layout);
  }
}

TEST_F(PlainValues, APipeOutsideIsNotOpened) {
  const std::string pipe = step_ + "/pipe", values = step_ + "/values";
  const hid_t layout = external(values);
  forge([&](hid_t file) { make(file, dataset, H5T_IEEE_F32LE, layout); });
  H5Pclose(layout);
  fs::remove(values);
  ASSERT_EQ(mkfifo(values.c_str(), 0666), 0);
  alarm(60);  // a reader would wait for ever
  expect_fault("its values are not one block of this file");
  alarm(0);
}

TEST_F(PlainValues, OtherTypesAreRefused) {
  for (const hid_t type : {H5T_IEEE_F64LE, H5T_IEEE_F32BE, H5T_STD_I32LE}) {
    forge([&](hid_t file) { make(file, dataset, type, H5P_DEFAULT); });
    expect_fault("its values are not float32");
  }
}

TEST_F(PlainValues, LinksAreRefused) {
  forge([&](hid_t file) { H5Lcreate_external("other.h5", dataset, file, dataset, H5P_DEFAULT, H5P_DEFAULT); });
  expect_fault(std::string(dataset) + " is a link to elsewhere");
  forge([&](hid_t file) {
    make(file, "elsewhere", H5T_IEEE_F32LE, H5P_DEFAULT);
    H5Lcreate_soft("/elsewhere", file, dataset, H5P_DEFAULT, H5P_DEFAULT);
  });
  expect_fault(std::string(dataset) + " is a link to elsewhere");
}

TEST_F(PlainValues, AGroupThatIsALinkIsRefused) {
  forge([&](hid_t file) {
    H5Ldelete(file, "parameters", H5P_DEFAULT);
    H5Lcreate_external("other.h5", "parameters", file, "parameters", H5P_DEFAULT, H5P_DEFAULT);
  });
  const auto faults = CheckpointReader(step_).verify_file(0);
  ASSERT_FALSE(faults.empty());
  EXPECT_NE(faults[0].find("parameters is a link to elsewhere"), std::string::npos) << faults[0];
}

TEST_F(PlainValues, AnotherPlaceInTheFileIsRefused) {
  const hid_t layout = layout_of([](hid_t) {});
  forge([&](hid_t file) {
    make(file, "first", H5T_IEEE_F32LE, layout);  // takes the place that became free
    make(file, dataset, H5T_IEEE_F32LE, layout);
  });
  H5Pclose(layout);
  expect_fault("its values are not at byte");
}

TEST_F(PlainValues, AShardOutsideTheFolderIsRefused) {
  Manifest manifest = CheckpointReader(step_).manifest();
  for (const char* name : {"../step-00000001/shard-p000-t000-d000.h5", "/etc/hostname", ""}) {
    manifest.files[0].name = name;
    base::write_file_atomically(step_ + "/manifest.json", to_json(manifest));
    expect_error(base::Exit::mismatch, {"manifest.json", "is not that of a file in this folder"},
                 [&] { CheckpointReader{step_}; });
  }
}

}  // namespace
}  // namespace trireme::test
