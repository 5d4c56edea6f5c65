// The HDF5 file class, shapes, 16-bit numbers and the checksum. Oracles: HDF5's own calls, enumeration, published values. Exact.
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>
#include <set>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include "base/error.h"
#include "base/half.h"
#include "base/hash.h"
#include "store/hdf5_file.h"
#include "validation/unit/support/expect_error.h"
#include "validation/unit/support/process.h"

namespace trireme::test {
namespace {

using store::Box;
using store::Hdf5File;
using store::Shape;
using Integers = std::vector<std::int64_t>;
using Reals = std::vector<double>;

class StoreHdf5 : public testing::Test {
 protected:
  Folder folder_;
  const std::string path_ = folder_ / "file.h5";
};

/// That this process has written in all, as the system counts.
std::int64_t bytes_written() {
  std::ifstream counts("/proc/self/io");
  std::string name;
  std::int64_t bytes = -1;
  while (counts >> name >> bytes)
    if (name == "wchar:") return bytes;
  return -1;
}

/// As of a model of thousands of layers, with longer names, which stand for more of them: what is written of names once is not
/// written again for each new one. Oracle: the size of the file.
TEST_F(StoreHdf5, ManyTensorsAreWrittenOnce) {
  constexpr int count = 4000;
  const auto name = [](int k) { return fmt::format("parameters/layers.{:04}.", k) + std::string(500, 'x'); };
  const float values[] = {1, 2, 3, 4};
  for (const bool virtually : {false, true}) {
    const std::int64_t before = bytes_written();
    ASSERT_GE(before, 0);
    Hdf5File file = Hdf5File::create(path_);
    for (int k = 0; k < count; ++k) {
      if (virtually)
        file.write_virtual(name(k), {4}, {{"source.h5", "x", Box{{0}, {4}}}});
      else
        file.write_tensor(name(k), {4}, values);
      file.set_attribute(name(k), "start", Integers{0});
    }
    file.close();
    const auto size = static_cast<std::int64_t>(fs::file_size(path_));
    EXPECT_LT(bytes_written() - before, 4 * size) << (virtually ? "virtual" : "plain");
    EXPECT_EQ(Hdf5File::open(path_).names("parameters").size(), static_cast<std::size_t>(count));
  }
}

TEST_F(StoreHdf5, ColumnsAndAttributesComeBack) {
  const Integers integers = {1, -2, INT64_MAX, INT64_MIN};
  const Reals reals = {0.1, -1e300, INFINITY};
  const std::string text(100000, 'x'), accents = "é \"quoted\"\n";
  {
    Hdf5File file = Hdf5File::create(path_);
    file.write_column<std::int64_t>("ranks/0/begin", integers);
    file.write_column<double>("ranks/0/seconds", reals);
    file.write_column<double>("ranks/none", {});
    file.write_text("config", text);
    file.write_text("nothing", "");
    file.set_attribute("/", "long", text.substr(0, 60000));
    file.set_attribute("/", "empty", std::string());
    file.set_attribute("ranks/0", "host", accents);
    file.set_attribute("ranks/0/begin", "step", std::int64_t{-5});
    file.set_attribute("ranks/0/begin", "offset", 0.1);
    file.set_attribute("ranks", "list", integers);
    file.set_attribute("ranks", "nothing", Integers{});
    file.close();
  }
  const Hdf5File file = Hdf5File::open(path_);
  EXPECT_EQ(file.read_column<std::int64_t>("ranks/0/begin"), integers);
  EXPECT_EQ(file.read_column<double>("ranks/0/seconds"), reals);
  EXPECT_EQ(file.read_column<double>("ranks/none"), Reals{});
  EXPECT_EQ(file.read_text("config"), text);
  EXPECT_EQ(file.read_text("nothing"), "");
  EXPECT_EQ(file.attribute<std::string>("/", "long"), text.substr(0, 60000));
  EXPECT_EQ(file.attribute<std::string>("/", "empty"), "");
  EXPECT_EQ(file.attribute<std::string>("ranks/0", "host"), accents);
  EXPECT_EQ(file.attribute<std::int64_t>("ranks/0/begin", "step"), -5);
  EXPECT_EQ(file.attribute<double>("ranks/0/begin", "offset"), 0.1);
  EXPECT_EQ(file.attribute<Integers>("ranks", "list"), integers);
  EXPECT_EQ(file.attribute<Integers>("ranks", "nothing"), Integers{});
  EXPECT_EQ(file.names("/"), (std::vector<std::string>{"config", "nothing", "ranks"}));
  EXPECT_EQ(file.names("ranks"), (std::vector<std::string>{"0", "none"}));
  EXPECT_TRUE(file.contains("ranks/0"));
  EXPECT_FALSE(file.contains("ranks/1/begin"));
}

// On the global heap a damaged file leads the library astray.
TEST_F(StoreHdf5, TextLiesWithItsObject) {
  Hdf5File file = Hdf5File::create(path_);
  file.set_attribute("/", "host", std::string("node"));
  file.write_text("config", "[model]");
  file.close();
  EXPECT_EQ(read_text(path_).find("GCOL"), std::string::npos) << "the mark of a heap";
  const hid_t raw = H5Fopen(path_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), attribute = H5Aopen(raw, "host", H5P_DEFAULT);
  const hid_t type = H5Aget_type(attribute);
  EXPECT_EQ(H5Tis_variable_str(type), 0);
  EXPECT_EQ(H5Tget_size(type), 4u);
  H5Tclose(type), H5Aclose(attribute), H5Fclose(raw);
}

TEST_F(StoreHdf5, TensorsAreContiguousLittleEndianAndWhereItSays) {
  std::vector<float> values(24);
  std::iota(values.begin(), values.end(), 1.0f);
  Hdf5File file = Hdf5File::create(path_);
  const std::int64_t offset = file.write_tensor("a/b.c", {2, 3, 4}, values.data());
  file.close();
  const std::string bytes = read_text(path_);
  EXPECT_EQ(std::memcmp(bytes.data() + offset, values.data(), 96), 0);

  const hid_t raw = H5Fopen(path_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), set = H5Dopen2(raw, "a/b.c", H5P_DEFAULT);
  const hid_t type = H5Dget_type(set), layout = H5Dget_create_plist(set);
  EXPECT_GT(H5Tequal(type, H5T_IEEE_F32LE), 0);
  EXPECT_EQ(H5Pget_layout(layout), H5D_CONTIGUOUS);
  H5Pclose(layout), H5Tclose(type), H5Dclose(set), H5Fclose(raw);

  const Hdf5File again = Hdf5File::open(path_);
  EXPECT_EQ(again.shape("a/b.c"), (Shape{2, 3, 4}));
  std::vector<float> out(2 * 2 * 5, -1.0f);  // the part [:, 1:3, 2:4] to [:, :, 1:3] of [2, 2, 5]
  again.read_tensor("a/b.c", {{0, 1, 2}, {2, 2, 2}}, {2, 2, 5}, {0, 0, 1}, out.data());
  EXPECT_EQ(out, (std::vector<float>{-1, 7, 8, -1, -1, -1, 11, 12, -1, -1, -1, 19, 20, -1, -1, -1, 23, 24, -1, -1}));
}

// Row 2^31 + 5 of a dataset of 2^31 + 8 rows: places beyond 32 bits, in a file with a hole.
TEST_F(StoreHdf5, PlacesBeyond32BitsAreRead) {
  const hsize_t rows = (hsize_t{1} << 31) + 8, start = rows - 3, three = 3;
  const hid_t raw = H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), layout = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_fill_time(layout, H5D_FILL_TIME_NEVER);
  const hid_t space = H5Screate_simple(1, &rows, nullptr), memory = H5Screate_simple(1, &three, nullptr);
  const hid_t set = H5Dcreate2(raw, "x", H5T_IEEE_F32LE, space, H5P_DEFAULT, layout, H5P_DEFAULT);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, nullptr, &three, nullptr);
  const float values[] = {1, 2, 3};
  ASSERT_GE(H5Dwrite(set, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, values), 0);
  H5Dclose(set), H5Sclose(space), H5Sclose(memory), H5Pclose(layout), H5Fclose(raw);

  float out[2] = {};
  Hdf5File::open(path_).read_tensor("x", {{static_cast<std::int64_t>(start) + 1}, {2}}, {2}, {0}, out);
  EXPECT_EQ(out[0], 2);
  EXPECT_EQ(out[1], 3);
}

TEST_F(StoreHdf5, ErrorsNameFileObjectAndReason) {
  using base::Exit;
  float value = 0;
  expect_error(Exit::bad_input, {path_, "No such file or directory"}, [&] { Hdf5File::open(path_); });
  expect_error(Exit::failure, {folder_ / "no/file.h5", "No such file"}, [&] { Hdf5File::create(folder_ / "no/file.h5"); });
  std::ofstream(path_) << std::string(3000, 'x');
  expect_error(Exit::bad_input, {path_, "not"}, [&] { Hdf5File::open(path_); });
  Hdf5File file = Hdf5File::create(path_);
  file.write_tensor("a", {1}, &value);
  expect_error(Exit::failure, {path_ + ": a: cannot create", "exists"}, [&] { file.write_tensor("a", {1}, &value); });
  file.set_attribute("a", "n", 0.5);
  expect_error(Exit::failure, {path_ + ": a: attribute long: 60001 bytes"},
               [&] { file.set_attribute("a", "long", std::string(60001, 'x')); });
  file.close();
  const Hdf5File again = Hdf5File::open(path_);
  expect_error(Exit::failure, {path_ + ": b: cannot open", "doesn't exist"}, [&] { again.read_column<double>("b"); });
  expect_error(Exit::failure, {path_ + ": a", "[1] holds no part [2] at [0]"}, [&] {
    again.read_tensor("a", {{0}, {2}}, {2}, {0}, &value);
  });
  expect_error(Exit::failure, {path_ + ": a: attribute n: of another type"}, [&] { again.attribute<std::int64_t>("a", "n"); });
  expect_error(Exit::failure, {path_ + ": a: not one text"}, [&] { again.read_text("a"); });
  expect_error(Exit::failure, {path_ + ": a: attribute m"}, [&] { again.attribute<double>("a", "m"); });
}

TEST_F(StoreHdf5, AFileLockedByAnotherProcessIsRead) {
  Hdf5File file = Hdf5File::create(path_);
  file.write_column<double>("x", Reals{1});
  file.close();
  const int locked = open(path_.c_str(), O_RDWR);
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  ASSERT_EQ(fcntl(locked, F_OFD_SETLK, &lock), 0);
  EXPECT_EQ(Hdf5File::open(path_).read_column<double>("x"), Reals{1});
  close(locked);
}

TEST_F(StoreHdf5, ThreadsMayWriteAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 10; ++round) {
        const std::string path = folder_ / fmt::format("{}.h5", t);
        Hdf5File file = Hdf5File::create(path);
        for (int k = 0; k < 10; ++k) file.write_column<std::int64_t>(fmt::format("a/{}", k), Integers(100, t * 1000 + k));
        file.close();
        const Hdf5File again = Hdf5File::open(path);
        for (int k = 0; k < 10; ++k)
          EXPECT_EQ(again.read_column<std::int64_t>(fmt::format("a/{}", k)), Integers(100, t * 1000 + k));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(StoreShape, PiecesTileABlockInMemoryOrder) {
  for (const Shape& count : {Shape{7}, Shape{3, 5}, Shape{2, 3, 4, 5}, Shape{1, 1}, Shape{4, 1, 6}})
    for (std::int64_t limit = 1; limit < 130; ++limit) {
      std::int64_t next = 0;
      for (const Box& box : store::pieces(count, limit)) {
        ASSERT_TRUE(inside(box, count));
        ASSERT_LE(store::elements_of(box.count), limit);
        Shape index = box.start;  // walks the box in order: its elements must be the next ones of the block
        for (std::int64_t k = 0; k < store::elements_of(box.count); ++k) {
          std::int64_t flat = 0;
          for (std::size_t axis = 0; axis < count.size(); ++axis) flat = flat * count[axis] + index[axis];
          ASSERT_EQ(flat, next++);
          for (std::size_t axis = count.size(); axis-- > 0;) {
            if (++index[axis] < box.start[axis] + box.count[axis]) break;
            index[axis] = box.start[axis];
          }
        }
      }
      EXPECT_EQ(next, store::elements_of(count));
    }
  EXPECT_TRUE(store::pieces({3, 0}, 5).empty());
}

// Every 16-bit pattern's value by the formats' definitions; a conversion must give the nearest, of two as near the even one.
struct Format {
  int exponent_bits, mantissa_bits;
  float value(std::uint32_t pattern) const {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = static_cast<int>(pattern >> mantissa_bits & ((1U << exponent_bits) - 1));
    const double fraction = static_cast<double>(pattern & ((1U << mantissa_bits) - 1));
    const double magnitude = exponent == 0 ? std::ldexp(fraction, 1 - bias - mantissa_bits)
                                           : std::ldexp(fraction + (1 << mantissa_bits), exponent - bias - mantissa_bits);
    return static_cast<float>(pattern & 0x8000 ? -magnitude : magnitude);
  }
  std::uint32_t infinity() const { return ((1U << exponent_bits) - 1) << mantissa_bits; }
};

void expect_nearest(const Format& format, std::uint16_t (*convert)(float), float (*back)(std::uint16_t)) {
  for (std::uint32_t pattern = 0; pattern < format.infinity(); ++pattern) {
    const float low = format.value(pattern);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(back(static_cast<std::uint16_t>(pattern))), std::bit_cast<std::uint32_t>(low));
    const bool last = pattern + 1 == format.infinity();
    // Above the largest value the next would be the power of two that infinity stands for.
    const double high = last ? 2.0 * low - format.value(pattern - 1) : format.value(pattern + 1);
    const double middle = (static_cast<double>(low) + high) / 2;  // exact in double
    const float centre = static_cast<float>(middle);
    const std::pair<float, std::uint32_t> cases[] = {{low, pattern},
                                                     {std::nextafter(centre, 0.0f), middle == 0 ? 0 : pattern},
                                                     {std::nextafter(centre, INFINITY), pattern + 1},
                                                     {centre, pattern % 2 ? pattern + 1 : pattern}};
    for (const auto& [value, expected] : cases) {
      if (!std::isfinite(value) || (value == centre && static_cast<double>(centre) != middle)) continue;
      ASSERT_EQ(convert(value), expected) << value;
      ASSERT_EQ(convert(-value), expected | 0x8000) << -value;
    }
  }
  EXPECT_EQ(convert(INFINITY), format.infinity());
  EXPECT_EQ(convert(-INFINITY), format.infinity() | 0x8000);
  EXPECT_TRUE(std::isnan(back(convert(NAN))));
  EXPECT_TRUE(std::isnan(back(convert(std::bit_cast<float>(0x7f800001U)))));
}

TEST(StoreHalf, Fp16IsTheNearestTiesToEven) { expect_nearest({5, 10}, base::to_fp16, base::from_fp16); }
TEST(StoreHalf, Bf16IsTheNearestTiesToEven) { expect_nearest({8, 7}, base::to_bf16, base::from_bf16); }

std::uint64_t hash_of(const std::vector<float>& values) { return base::hash64(std::as_bytes(std::span(values))); }

TEST(Hash, IsXxh3) {
  EXPECT_EQ(base::hash64({}), 0x2d06800538d394c2u);  // of nothing, as published with the algorithm
  std::vector<float> values(5000, 0.5f);
  values[4000] = 2;
  base::Hash64 pieces;
  for (std::size_t first = 0; first < values.size(); first += 700)
    pieces.add(std::as_bytes(std::span(values).subspan(first, std::min<std::size_t>(700, values.size() - first))));
  EXPECT_EQ(pieces.value(), hash_of(values));
}

TEST(Hash, SeesEveryBitAndThePlace) {
  const std::vector<float> values = {1, 2, 3, 4, 5};
  std::set<std::uint64_t> seen = {hash_of(values)};
  for (std::size_t k = 0; k < values.size(); ++k)
    for (int bit = 0; bit < 32; ++bit) {
      std::vector<float> other = values;
      other[k] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(other[k]) ^ 1U << bit);
      EXPECT_TRUE(seen.insert(hash_of(other)).second) << k << " bit " << bit;
    }
  for (const std::vector<float>& other : {std::vector<float>{3, 4, 1, 2, 5}, {2, 1, 3, 4, 5}, {1, 2, 3, 4}, {1, 2, 3, 4, 5, 0}})
    EXPECT_TRUE(seen.insert(hash_of(other)).second);
}

}  // namespace
}  // namespace trireme::test
