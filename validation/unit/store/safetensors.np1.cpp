// Safetensors files on one rank. Oracles: bytes spelled out by hand from the format's description. All comparisons exact: reading
// and writing move bits, and the conversions tested are representable in F32.
#include "store/safetensors.h"

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <tuple>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"
#include "validation/unit/support/expect_error.h"
#include "validation/unit/support/file_size_limit.h"

namespace trireme::store {
using test::expect_error;

namespace {

/// A folder for one test, removed at its end.
class Safetensors : public testing::Test {
 protected:
  Safetensors() {
    std::string pattern = (std::filesystem::temp_directory_path() / "safetensors-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Safetensors() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string put(const std::string& bytes) const {
    std::ofstream(path("model.safetensors"), std::ios::binary) << bytes;
    return path("model.safetensors");
  }

  std::string folder_;
};

std::string with_length(const std::string& header) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header.size() >> 8 * i & 255);
  return bytes + header;
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// 1.0f is 00 00 80 3f, 2.0f 00 00 00 40, -3.0f 00 00 40 c0.
constexpr char three_floats[] = "\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\xc0";

TEST_F(Safetensors, WritesTheBytesOfTheFormat) {
  SafetensorsWriter writer(path("out"), {{"w", {1, 2}}, {"none", {0, 4}}, {"b", {1}}});
  const float values[] = {1, 2, -3};
  writer.write("w", values, 1);
  writer.write("w", values + 1, 1);
  writer.write("b", values + 2, 1);
  EXPECT_FALSE(std::filesystem::exists(path("out")));
  writer.finish();
  std::string header =
      R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
      R"("none":{"dtype":"F32","shape":[0,4],"data_offsets":[8,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})";
  while (header.size() % 8 != 0) header += ' ';
  EXPECT_EQ(contents(path("out")), with_length(header) + std::string(three_floats, 12));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(Safetensors, LeavesNothingWithoutFinish) {
  std::ofstream(path("out")) << "older";
  {
    SafetensorsWriter writer(path("out"), {{"w", {2}}});
    const float value = 1;
    writer.write("w", &value, 1);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 2);
    expect_error(base::Exit::failure, {"out", "w", "lacks 1"}, [&] { writer.finish(); });
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
  EXPECT_EQ(contents(path("out")), "older");
}

TEST_F(Safetensors, RefusesTensorsOutOfTurn) {
  SafetensorsWriter writer(path("out"), {{"w", {2}}, {"b", {1}}});
  const float values[] = {1, 2, 3};
  expect_error(base::Exit::failure, {"tensor b"}, [&] { writer.write("b", values, 1); });
  expect_error(base::Exit::failure, {"3 elements of tensor w"}, [&] { writer.write("w", values, 3); });
  writer.write("w", values, 2);
  writer.write("b", values, 1);
  expect_error(base::Exit::failure, {"tensor b"}, [&] { writer.write("b", values, 1); });
}

TEST_F(Safetensors, AFullDiskIsAnErrorThatNamesTheFile) {
  {
    const test::FileSizeLimit full(1);
    expect_error(base::Exit::failure, {path("out"), "File too large"}, [&] {
      SafetensorsWriter writer(path("out"), {{"w", {1}}});
    });
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  expect_error(base::Exit::failure, {"absent/out"}, [&] { SafetensorsWriter(path("absent/out"), {}); });
}

/// Oracle: the bytes of one writer.
TEST_F(Safetensors, OfTwoWritersAtOnceTheLastToEndStands) {
  SafetensorsWriter first(path("out"), {{"w", {2}}}), second(path("out"), {{"w", {2}}});
  const float ones[] = {1, 1}, twos[] = {2, 2};
  first.write("w", ones, 1), second.write("w", twos, 2), first.write("w", ones + 1, 1);
  second.finish();
  const std::string alone = contents(path("out"));
  EXPECT_EQ(alone.substr(alone.size() - 8), std::string(reinterpret_cast<const char*>(twos), 8));
  first.finish();
  const std::string last = contents(path("out"));
  EXPECT_EQ(last, alone.substr(0, alone.size() - 8) + std::string(reinterpret_cast<const char*>(ones), 8));
}

TEST_F(Safetensors, ReadsNamesShapesAndParts) {
  // Listed out of order, with metadata, a scalar, an empty tensor and a header length that leaves the data unaligned.
  const std::string header =
      R"({"s":{"dtype":"F32","shape":[],"data_offsets":[24,28]},"__metadata__":{"format":"pt"},)"
      R"("m":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"e":{"dtype":"F32","shape":[0,3],"data_offsets":[24,24]}})";
  std::string padded = header;
  while (padded.size() % 4 != 1) padded += ' ';
  const SafetensorsReader reader(put(with_length(padded) + bytes_of<float>({0, 1, 2, 10, 11, 12, 7})));
  ASSERT_EQ(reader.tensors().size(), 3U);
  EXPECT_EQ(reader.tensors()[0].name, "m");
  EXPECT_EQ(reader.tensors()[1].name, "e");
  EXPECT_EQ(reader.tensors()[2].name, "s");
  EXPECT_EQ(reader.find("m")->shape, (Shape{2, 3}));
  EXPECT_EQ(reader.find("absent"), nullptr);

  const auto part = [&](const std::string& name, const Shape& start, const Shape& count, std::size_t elements) {
    std::vector<float> out(elements + 1, -1);  // one more, to see a write past the end
    reader.read_hyperslab(name, start, count, out.data());
    EXPECT_EQ(out.back(), -1);
    out.pop_back();
    return out;
  };
  EXPECT_EQ(part("m", {0, 0}, {2, 3}, 6), (std::vector<float>{0, 1, 2, 10, 11, 12}));
  EXPECT_EQ(part("m", {0, 1}, {2, 2}, 4), (std::vector<float>{1, 2, 11, 12}));
  EXPECT_EQ(part("m", {1, 2}, {1, 1}, 1), (std::vector<float>{12}));
  EXPECT_EQ(part("m", {2, 0}, {0, 3}, 0), (std::vector<float>{}));
  EXPECT_EQ(part("s", {}, {}, 1), (std::vector<float>{7}));

  std::vector<float> transposed(4);
  reader.read_strided("m", 1, {2, 2}, {1, 3}, transposed.data());  // columns 1 and 2
  EXPECT_EQ(transposed, (std::vector<float>{1, 11, 2, 12}));

  float out[9];
  for (const auto& [start, count] : std::vector<std::pair<Shape, Shape>>{
           {{0, 1}, {2, 3}}, {{-1, 0}, {1, 1}}, {{0, 0}, {3, 1}}, {{0}, {1}}, {{0, 0}, {1, -1}}, {{0, INT64_MAX}, {1, 1}}})
    expect_error(base::Exit::failure, {"tensor m", "[2, 3]"}, [&] { reader.read_hyperslab("m", start, count, out); });
  expect_error(base::Exit::failure, {"tensor m"}, [&] { reader.read_strided("m", 3, {2, 3}, {3, 1}, out); });
  expect_error(base::Exit::bad_input, {"no tensor absent"}, [&] { reader.read_hyperslab("absent", {}, {}, out); });
}

TEST_F(Safetensors, ConvertsHalfBfloatAndDouble) {
  // IEEE 754 binary16 by hand: 0x3c00 1, 0xc000 -2, 0x7bff 65504, 0x0400 2^-14, 0x0001 2^-24, 0x83ff -1023 2^-24, 0x7c00
  // infinity, 0x7e00 not a number, 0x8000 -0. bfloat16 is the upper half of binary32.
  const std::string header =
      R"({"h":{"dtype":"F16","shape":[9],"data_offsets":[0,18]},"b":{"dtype":"BF16","shape":[3],"data_offsets":[18,24]},)"
      R"("d":{"dtype":"F64","shape":[2],"data_offsets":[24,40]},"i":{"dtype":"I64","shape":[1],"data_offsets":[40,48]}})";
  const SafetensorsReader reader(put(
      with_length(header) +
      bytes_of<std::uint16_t>({0x3c00, 0xc000, 0x7bff, 0x0400, 0x0001, 0x83ff, 0x7c00, 0x7e00, 0x8000, 0x3fc0, 0xc040, 0x0001}) +
      bytes_of<double>({0.5, 1 + 0x1p-23}) + bytes_of<std::int64_t>({5})));
  std::vector<float> half(9), bfloat(3), doubles(2);
  reader.read_hyperslab("h", {0}, {9}, half.data());
  reader.read_hyperslab("b", {0}, {3}, bfloat.data());
  reader.read_hyperslab("d", {0}, {2}, doubles.data());
  EXPECT_TRUE(std::isnan(half[7]));
  EXPECT_TRUE(half[8] == 0 && std::signbit(half[8]));
  half.resize(7);
  EXPECT_EQ(half, (std::vector<float>{1, -2, 65504, 0x1p-14F, 0x1p-24F, -1023 * 0x1p-24F, INFINITY}));
  EXPECT_EQ(bfloat, (std::vector<float>{1.5F, -3, std::bit_cast<float>(0x00010000U)}));
  EXPECT_EQ(doubles, (std::vector<float>{0.5F, 1 + 0x1p-23F}));
  EXPECT_FALSE(SafetensorsReader::readable(*reader.find("i")));
  expect_error(base::Exit::bad_input, {"tensor i", "I64"}, [&] { reader.read_hyperslab("i", {0}, {1}, half.data()); });
}

struct Defect {
  std::string header;  // without the length
  std::string says;
};

TEST_F(Safetensors, RefusesEveryDefectByName) {
  const std::vector<Defect> defects = {
      // each with 8 bytes of data
      {"{", "not JSON"},
      {"[]", "not a JSON object"},
      {R"({"w":3})", "tensor w: its entry"},
      {R"({"w":{"shape":[2],"data_offsets":[0,8]}})", "tensor w: no dtype"},
      {R"({"w":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})", "tensor w: unknown dtype F33"},
      {R"({"w":{"dtype":"F32","data_offsets":[0,8]}})", "tensor w: no list `shape`"},
      {R"({"w":{"dtype":"F32","shape":[2]}})", "tensor w: no list `data_offsets`"},
      {R"({"w":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", "tensor w: -2 in `shape`"},
      {R"({"w":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", "tensor w: 2.0 in `shape`"},
      {R"({"w":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]}})",
       "tensor w: 18446744073709551615 in `shape`"},
      {R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]}})", "tensor w: data_offsets"},
      {R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", "tensor w: data_offsets"},
      {R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", "tensor w: data_offsets [4, 12]"},
      {R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "tensor w: shape [3]"},
      {R"({"w":{"dtype":"F16","shape":[2],"data_offsets":[0,8]}})", "tensor w: shape [2] of F16"},
      {R"({"w":{"dtype":"F32","shape":[4611686018427387904,4,2],"data_offsets":[0,8]}})", "tensor w: shape"},
      {R"({"w":{"dtype":"F32","shape":[4611686018427387906],"data_offsets":[0,8]}})", "tensor w: shape"},
      {R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       "tensor x overlaps"},
      {R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "4 bytes before tensor w"},
      {R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "4 bytes after the last tensor"},
      {R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
       "tensor w is listed twice"}};
  for (const Defect& defect : defects) {
    SCOPED_TRACE(defect.header);
    const std::string file = put(with_length(defect.header) + std::string(8, '\0'));
    expect_error(base::Exit::bad_input, {file, defect.says}, [&] { SafetensorsReader reader(file); });
  }
  for (const std::string& bytes :
       {std::string(), std::string(7, '\0'), std::string(8, '\xff') + "{}", std::string("\x03\0\0\0\0\0\0\0{}", 10)}) {
    const std::string file = put(bytes);
    expect_error(base::Exit::bad_input, {file, "bytes"}, [&] { SafetensorsReader reader(file); });
  }
  expect_error(base::Exit::bad_input, {path("absent")}, [&] { SafetensorsReader reader(path("absent")); });
}

/// Files as other programs write them, cut after their first bytes.
TEST_F(Safetensors, NamesWhatAFileIsInstead) {
  const std::vector<std::pair<std::string, std::string>> files = {
      {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 548105171\n", "git lfs pull"},
      {std::string("PK\x03\x04\x00\x00\x08\x08\x00\x00", 10), "PyTorch"},
      {std::string("\x80\x02\x8a\nl\xfc\x9c\x46\xf9\x20", 10), "PyTorch"},
      {"\x89HDF\r\n\x1a\n\x02\x08\x08", "HDF5"},
      {"<!DOCTYPE html><html>Entry not found", "download"},
      {std::string("GGUF\x03\0\0\0\x93\0\0\0", 12), "GGUF"},
      {std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10), "gzip"}};
  for (const auto& [bytes, says] : files) {
    const std::string file = put(bytes);
    expect_error(base::Exit::bad_input, {file, says}, [&] { SafetensorsReader reader(file); });
  }
}

TEST_F(Safetensors, AnIndexJoinsSeveralFiles) {
  const auto write = [&](const std::string& name, const std::string& tensor, float value) {
    SafetensorsWriter writer(path(name), {{tensor, {1}}}, {{"from", name}});
    writer.write(tensor, &value, 1);
    writer.finish();
  };
  const auto index = [&](const std::string& text) {
    std::ofstream(path("model.safetensors.index.json")) << text;
    return path("model.safetensors.index.json");
  };
  write("b.safetensors", "w", 1);
  write("a.safetensors", "x", 2);
  const std::string both = R"({"metadata": {"total_size": 8}, "weight_map": {"w": "b.safetensors", "x": "a.safetensors"}})";
  const SafetensorsReader reader(index(both));
  ASSERT_EQ(reader.tensors().size(), 2u);
  float w = 0, x = 0;
  reader.read_hyperslab("w", {0}, {1}, &w);
  reader.read_hyperslab("x", {0}, {1}, &x);
  EXPECT_EQ(w, 1);
  EXPECT_EQ(x, 2);
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"{", "not JSON, or cut or damaged"},
      {"{}", "no object `weight_map`"},
      {R"({"weight_map": []})", "no object `weight_map`"},
      {R"({"weight_map": {"w": 3}})", "tensor w: 3 is no name"},
      {R"({"weight_map": {"w": "../b.safetensors"}})", "is no name of a file beside the index"},
      {R"({"weight_map": {"w": "c.safetensors"}})", path("c.safetensors")},
      {R"({"weight_map": {"x": "b.safetensors"}})", "tensor x is not in " + path("b.safetensors")},
      {R"({"weight_map": {"w": "b.safetensors", "x": "b.safetensors"}})", "tensor x is not in"}};
  for (const auto& [text, says] : wrong)
    expect_error(base::Exit::bad_input, {says}, [&] { SafetensorsReader of_both(index(text)); });
  write("a.safetensors", "w", 2);  // twice
  expect_error(base::Exit::bad_input, {"a.safetensors"}, [&] { SafetensorsReader of_both(index(both)); });
}

TEST_F(Safetensors, WritesHalvesAndRefusesWhatTheyCannotHold) {
  const std::vector<float> values = {1.5f, -0.25f, 3.0f};
  for (const auto& [dtype, name, words] : {std::tuple(Dtype::fp16, "F16", std::vector<std::uint16_t>{0x3e00, 0xb400, 0x4200}),
                                           std::tuple(Dtype::bf16, "BF16", std::vector<std::uint16_t>{0x3fc0, 0xbe80, 0x4040})}) {
    SafetensorsWriter writer(path("half"), {{"w", {3}}}, {}, dtype);
    writer.write("w", values.data(), 3);
    writer.finish();
    EXPECT_TRUE(contents(path("half")).ends_with(bytes_of(words))) << name;
    const SafetensorsReader reader(path("half"));
    EXPECT_EQ(reader.tensors()[0].dtype, name);
    std::vector<float> out(3);
    reader.read_hyperslab("w", {0}, {3}, out.data());
    EXPECT_EQ(out, values);
  }
  SafetensorsWriter writer(path("large"), {{"w", {2}}}, {}, Dtype::fp16);
  const float large[] = {65519, 65520};
  expect_error(base::Exit::bad_input, {path("large"), "tensor w holds 65520"}, [&] { writer.write("w", large, 2); });
}

}  // namespace
}  // namespace trireme::store
