// Traces that are not as they were written. Oracle: HDF5's own calls make files that no run writes; a checksum of another
// implementation is not needed, since any changed byte must be refused.
#include "store/trace_file.h"

#include <cstring>
#include <functional>
#include <random>

#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/stat.h>

#include "base/error.h"
#include "store/seal.h"
#include "validation/unit/support/expect_error.h"
#include "validation/unit/support/process.h"

namespace trireme::test {
namespace {

using base::Exit;

class TraceFile : public testing::Test {
 protected:
  void SetUp() override {
    store::TraceHeader header;
    header.step = 7;
    header.shape = {.tensor = 1, .data = 1, .pipeline = 2};
    header.schedule = "1f1b";
    header.config = std::string(70000, '#');  // longer than an attribute may be
    store::TraceWriter writer(path_, header);
    for (int rank = 0; rank < 2; ++rank) {
      const grid::Event event{0.001, 0.002, kind_of(grid::Work::forward), {0, 0, -1}, 0};
      writer.add({.host = "node", .at = {0, 0, rank}, .events = {{event, 1e9}, {event, 1e9}}});
    }
    writer.finish();
  }

  /// The file after `change` by HDF5 itself, with a checksum that fits.
  void forge(const std::function<void(hid_t)>& change) {
    const hid_t file = H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    ASSERT_GE(file, 0);
    change(file);
    ASSERT_GE(H5Fclose(file), 0);
    store::seal(path_);
  }

  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

  Folder folder_;
  const std::string path_ = folder_ / "step-00000007.h5";
};

/// A dataset of so many numbers, none of which is on the disk.
void claim(hid_t file, const char* dataset, hsize_t elements) {
  H5Ldelete(file, dataset, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(1, &elements, nullptr);
  H5Dclose(H5Dcreate2(file, dataset, H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Sclose(space);
}

/// An attribute whose text lies on the global heap.
void put_on_heap(hid_t file, const char* object, const char* name) {
  H5Adelete_by_name(file, object, name, H5P_DEFAULT);
  const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
  H5Tset_size(type, H5T_VARIABLE);
  const hid_t attribute = H5Acreate_by_name(file, object, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const char* text = "1f1b";
  H5Awrite(attribute, type, &text);
  H5Aclose(attribute), H5Sclose(space), H5Tclose(type);
}

TEST_F(TraceFile, IsReadWhole) {
  const store::Trace trace = store::read_trace(path_);
  EXPECT_EQ(trace.ranks.size(), 2u);
  EXPECT_EQ(trace.config, std::string(70000, '#'));
}

TEST_F(TraceFile, AnyChangedByteIsRefusedBeforeTheLibraryOpensIt) {
  const std::string whole = read_text(path_);
  std::mt19937 random(3);
  for (int k = 0; k < 300; ++k) {
    std::string bytes = whole;
    // Most damage is to the tables of HDF5, at the file's begin and where they are not zero.
    for (std::size_t at = 0; bytes == whole; at = random() % bytes.size())
      bytes[at] = static_cast<char>(bytes[at] ^ static_cast<int>(1 + random() % 255));
    write(bytes);
    expect_error(Exit::bad_input, {path_ + ": not the trace of a step: "}, [&] { store::read_trace(path_); });
  }
}

TEST_F(TraceFile, WhateverIsCutOffOrPutBehindIsRefused) {
  const std::string whole = read_text(path_);
  for (std::size_t length = 0; length < whole.size(); length += 1 + length / 7) {
    write(whole.substr(0, length));
    expect_error(Exit::bad_input, {path_ + ": not the trace of a step: "}, [&] { store::read_trace(path_); });
  }
  for (const std::string more : {"\n", "0", "a line more\n"}) {
    write(whole + more);
    expect_error(Exit::bad_input, {"the checksum at its end is missing"}, [&] { store::read_trace(path_); });
  }
  write(whole + whole);
  expect_error(Exit::bad_input, {"not those that were written"}, [&] { store::read_trace(path_); });
}

TEST_F(TraceFile, HDF5OpensItAsAnyOther) {
  const hid_t file = H5Fopen(path_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  ASSERT_GE(file, 0);
  EXPECT_GT(H5Lexists(file, "rank-00001/flops", H5P_DEFAULT), 0);
  H5Fclose(file);
}

TEST_F(TraceFile, AClaimOfMoreThanTheFileHoldsTakesNoMemory) {
  for (const hsize_t elements : {hsize_t{1} << 28, hsize_t{1} << 40, hsize_t{1} << 58})
    for (const char* column : {"rank-00001/kind", "rank-00000/peer"}) {
      forge([&](hid_t file) { claim(file, column, elements); });
      expect_error(Exit::bad_input, {path_, column, std::to_string(elements) + " elements"}, [&] { store::read_trace(path_); });
      SetUp();
    }
}

TEST_F(TraceFile, WhatLiesElsewhereIsNotRead) {
  const std::string fifo = folder_ / "fifo", other = folder_ / "other.h5";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  fs::copy(path_, other);
  const auto link = [&](const char* object) {
    return [&, object](hid_t file) {
      H5Ldelete(file, object, H5P_DEFAULT);
      H5Lcreate_external(other.c_str(), object, file, object, H5P_DEFAULT, H5P_DEFAULT);
    };
  };
  const auto store_at = [&](bool chunked) {
    return [&, chunked](hid_t file) {
      const hsize_t elements = 2;
      H5Ldelete(file, "rank-00001/kind", H5P_DEFAULT);
      const hid_t space = H5Screate_simple(1, &elements, nullptr), layout = H5Pcreate(H5P_DATASET_CREATE);
      if (chunked)
        H5Pset_chunk(layout, 1, &elements);
      else
        H5Pset_external(layout, fifo.c_str(), 0, 16);
      H5Dclose(H5Dcreate2(file, "rank-00001/kind", H5T_STD_I64LE, space, H5P_DEFAULT, layout, H5P_DEFAULT));
      H5Pclose(layout), H5Sclose(space);
    };
  };
  const std::vector<std::pair<std::function<void(hid_t)>, std::string>> forgeries = {
      {link("rank-00001/begin"), "rank-00001/begin is a link to elsewhere"},
      {link("rank-00001"), "rank-00001 is a link to elsewhere"},
      {[](hid_t file) {
         H5Ldelete(file, "config", H5P_DEFAULT);
         H5Lcreate_soft("/rank-00000/kind", file, "config", H5P_DEFAULT, H5P_DEFAULT);
       },
       "not the trace of a step"},
      {store_at(false), "2 elements that do not lie in this file"},
      {store_at(true), "2 elements that do not lie in this file"}};
  for (const auto& [change, message] : forgeries) {
    forge(change);
    expect_error(Exit::bad_input, {path_, message}, [&] { store::read_trace(path_); });
    SetUp();
  }
}

TEST_F(TraceFile, ColumnsThatShareTheirBytesAreNotReadManyTimes) {
  const auto share = [](hid_t file) {
    for (const char* column : {"kind", "microbatch", "chunk", "peer", "bytes", "begin", "end", "flops"}) {
      const std::string path = std::string("rank-00001/") + column;
      H5Ldelete(file, path.c_str(), H5P_DEFAULT);
      H5Lcreate_hard(file, "big", file, path.c_str(), H5P_DEFAULT, H5P_DEFAULT);
    }
  };
  forge([&](hid_t file) {
    const hsize_t elements = 1 << 15;
    const hid_t space = H5Screate_simple(1, &elements, nullptr), layout = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_alloc_time(layout, H5D_ALLOC_TIME_EARLY);
    H5Dclose(H5Dcreate2(file, "big", H5T_STD_I64LE, space, H5P_DEFAULT, layout, H5P_DEFAULT));
    H5Pclose(layout), H5Sclose(space);
    share(file);
  });
  expect_error(Exit::bad_input, {path_, "damaged: 32770 events in"}, [&] { store::read_trace(path_); });
}

TEST_F(TraceFile, TextOnTheGlobalHeapIsNotRead) {
  for (const auto& [object, name] : {std::pair{"/", "schedule"}, {"/", "kinds"}, {"rank-00001", "host"}}) {
    forge([&, where = object, what = name](hid_t file) { put_on_heap(file, where, what); });
    expect_error(Exit::bad_input, {path_}, [&] { store::read_trace(path_); });
    SetUp();
  }
}

/// 2^32 + x: cut to 32 bits it would be x, which is right. Oracle: HDF5 writes the number into the file.
TEST_F(TraceFile, ACoordinateBeyond32BitsIsRefused) {
  const auto attribute = [](const char* name, std::int64_t right) {
    return [name, wrong = right + (std::int64_t{1} << 32)](hid_t file) {
      H5Adelete_by_name(file, "rank-00001", name, H5P_DEFAULT);
      const hid_t space = H5Screate(H5S_SCALAR),
                  made = H5Acreate_by_name(file, "rank-00001", name, H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
      EXPECT_GE(H5Awrite(made, H5T_NATIVE_INT64, &wrong), 0);
      H5Aclose(made), H5Sclose(space);
    };
  };
  const auto column = [](const char* name) {
    return [name](hid_t file) {
      const hid_t dataset = H5Dopen2(file, (std::string("rank-00001/") + name).c_str(), H5P_DEFAULT);
      std::int64_t values[2] = {};
      EXPECT_GE(H5Dread(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), 0);
      values[1] += std::int64_t{1} << 32;
      EXPECT_GE(H5Dwrite(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), 0);
      H5Dclose(dataset);
    };
  };
  const std::vector<std::pair<std::function<void(hid_t)>, std::string>> forgeries = {
      {attribute("tensor", 0), "rank-00001: damaged: tensor 4294967296"},
      {attribute("data", 0), "rank-00001: damaged: data 4294967296"},
      {attribute("pipeline", 1), "rank-00001: damaged: pipeline 4294967297"},
      {attribute("pipeline", 1 - (std::int64_t{1} << 33)), "rank-00001: damaged: pipeline -4294967295"},
      {column("microbatch"), "rank-00001: damaged: event 1: microbatch 4294967296"},
      {column("chunk"), "rank-00001: damaged: event 1: chunk 4294967296"},
      {column("peer"), "rank-00001: damaged: event 1: peer 4294967295"},
      {column("kind"), "rank-00001: damaged: event 1: kind "}};
  for (const auto& [change, message] : forgeries) {
    forge(change);
    EXPECT_EQ(store::seal_fault(path_), "") << "the forger made the seal anew";
    expect_error(Exit::bad_input, {path_, message}, [&] { store::read_trace(path_); });
    SetUp();
  }
}

TEST_F(TraceFile, TheCommandSaysItInOneLine) {
  std::string bytes = read_text(path_);
  bytes[bytes.size() / 2] ^= 1;
  write(bytes);
  const Result result = run({program(), "trace", path_}, 20);
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err, path_ + ": not the trace of a step: damaged: its bytes are not those that were written\n");
}

TEST(Seal, ANewSealSaysWhatTheFileIs) {
  const Folder folder;
  const std::string path = folder / "file";
  for (const std::string content : {"", "x", "many\nlines\n"}) {
    std::ofstream(path) << content;
    EXPECT_NE(store::seal_fault(path), "") << "not sealed yet";
    store::seal(path);
    EXPECT_EQ(store::seal_fault(path), "");
    EXPECT_EQ(read_text(path).substr(0, content.size()), content);
  }
  // Of the empty text, XXH3 by its authors' tool.
  std::ofstream(path) << "";
  store::seal(path);
  EXPECT_EQ(read_text(path), "\ntrireme: XXH3 of all bytes before this line: 2d06800538d394c2\n");
  expect_error(Exit::bad_input, {folder.path().string()}, [&] { store::seal_fault(folder.path().string()); });
}

}  // namespace
}  // namespace trireme::test
