// Token files: oracle is the byte-exact example of the format's description, and every defect one at a time.
#include "data/token_file.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "data/source.h"
#include "data/token_writer.h"
#include "validation/unit/support/file_size_limit.h"

namespace {

using namespace trireme;
namespace fs = std::filesystem;
using std::string_literals::operator""s;

/// The documents [1, 2, 3] and [4, 5] as uint16, written down by hand.
const std::string example_bin("\x01\0\x02\0\x03\0\x04\0\x05\0", 10);
const std::string example_idx = "MMIDIDX\0\0"s + "\x01\0\0\0\0\0\0\0"s + "\x08"s + "\x02\0\0\0\0\0\0\0"s + "\x03\0\0\0\0\0\0\0"s +
                                "\x03\0\0\0\x02\0\0\0"s + "\0\0\0\0\0\0\0\0\x06\0\0\0\0\0\0\0"s +
                                "\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0"s;

class TokenFiles : public testing::Test {
 protected:
  TokenFiles() {
    fs::create_directory(folder_);
    put(".bin", example_bin);
    put(".idx", example_idx);
  }
  ~TokenFiles() override { fs::remove_all(folder_); }

  void put(const std::string& ending, const std::string& bytes) const {
    std::ofstream(prefix_ + ending, std::ios::binary).write(bytes.data(), std::ssize(bytes));
  }
  static std::string get(const std::string& path) {
    std::ostringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    return bytes.str();
  }
  /// The message of the bad_input that `action` must end with.
  static std::string refusal(const std::function<void()>& action) {
    try {
      action();
    } catch (const base::Error& error) {
      EXPECT_EQ(error.status(), base::Exit::bad_input);
      return error.what();
    }
    return "nothing was refused";
  }
  std::string refusal_to_open() const {
    return refusal([&] { data::TokenFile(prefix_, 6).check_ids(); });
  }

  const fs::path folder_ = fs::temp_directory_path() / ("token_file." + std::to_string(getpid()));
  const std::string prefix_ = folder_ / "tokens";
};

TEST_F(TokenFiles, ReadsTheExample) {
  ASSERT_EQ(example_idx.size(), 82u);
  const data::TokenFile file(prefix_, 6);
  file.check_ids();
  EXPECT_EQ(file.tokens(), 5);
  EXPECT_EQ(file.documents(), 2);
  std::vector<std::int32_t> ids(3);
  file.read(1, 3, ids.data());
  EXPECT_EQ(ids, (std::vector<std::int32_t>{2, 3, 4}));
}

TEST_F(TokenFiles, SamplesShareOneToken) {
  const data::FileSource source(prefix_, 6, 2);
  ASSERT_EQ(source.samples(), 2);
  std::vector<std::int32_t> ids(3);
  source.sample(1, ids.data());
  EXPECT_EQ(ids, (std::vector<std::int32_t>{3, 4, 5}));
  EXPECT_EQ(data::FileSource(prefix_, 6, 4).samples(), 1);
  EXPECT_NE(refusal([&] { data::FileSource(prefix_, 6, 5); }).find("a sample needs 6"), std::string::npos);
}

TEST_F(TokenFiles, WriterMakesTheExample) {
  const std::string made = folder_ / "made";
  data::TokenWriter writer(made, 6);
  writer.append(std::vector<std::int32_t>{1, 2});
  writer.append(std::vector<std::int32_t>{3});
  writer.end_document();
  writer.append(std::vector<std::int32_t>{4, 5});
  writer.end_document();
  EXPECT_FALSE(fs::exists(made + ".bin") || fs::exists(made + ".idx")) << "half a pair under its final name";
  writer.finish();
  EXPECT_EQ(get(made + ".bin"), example_bin);
  EXPECT_EQ(get(made + ".idx"), example_idx);
}

TEST_F(TokenFiles, LargeVocabularyIsWrittenAsInt32) {
  const std::string made = folder_ / "made";
  std::vector<std::int32_t> ids(100000);
  std::iota(ids.begin(), ids.end(), 0);
  data::TokenWriter writer(made, 100000);
  writer.append(ids);
  writer.end_document();
  writer.finish();
  EXPECT_EQ(fs::file_size(made + ".bin"), 400000u);
  const data::TokenFile file(made, 100000);
  std::vector<std::int32_t> read(ids.size());
  file.read(0, file.tokens(), read.data());
  EXPECT_EQ(read, ids);
  EXPECT_EQ(refusal([&] { data::TokenFile(made, 77777).check_ids(); }),
            made + ".bin: token 77777 is 77777: expected ids from 0 to 77776 (model.vocabulary = 77777)");
}

TEST_F(TokenFiles, AbandonedWriterLeavesNothing) {
  { data::TokenWriter(folder_ / "made", 6).append(std::vector<std::int32_t>{1}); }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2) << "only the example's pair";
}

TEST_F(TokenFiles, WriterRefuses) {
  EXPECT_NE(refusal([&] { data::TokenWriter(prefix_, 6); }).find("exists already"), std::string::npos);
  EXPECT_NE(refusal([&] { data::TokenWriter(folder_ / "none" / "made", 6); }).find("No such file or directory"),
            std::string::npos);
  EXPECT_EQ(get(prefix_ + ".bin"), example_bin);
}

TEST_F(TokenFiles, FullDiskNamesTheFile) {
  const std::string made = folder_ / "made";
  const test::FileSizeLimit full(1);
  try {
    data::TokenWriter writer(made, 6);
    writer.append(std::vector<std::int32_t>{1});
    writer.end_document();
    writer.finish();
    ADD_FAILURE() << "a full disk went unnoticed";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), base::Exit::failure);
    EXPECT_EQ(std::string(error.what()).rfind(made + ".bin: cannot write: File too large", 0), 0u) << error.what();
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2) << "only the example's pair";
}

/// Oracle: the ids of the writer that ended first.
TEST_F(TokenFiles, OfTwoWritersAtOnceTheFirstToEndMakesThePair) {
  const std::string made = folder_ / "made";
  data::TokenWriter first(made, 6), second(made, 6);
  first.append(std::vector<std::int32_t>{1, 2, 3});
  second.append(std::vector<std::int32_t>{4, 4, 4, 4, 4});
  second.end_document(), first.end_document();
  first.finish();
  EXPECT_EQ(refusal([&] { second.finish(); }), made + ".bin: another program made this file meanwhile; it was left as it is");
  const data::TokenFile file(made, 6);
  std::vector<std::int32_t> ids(3);
  ASSERT_EQ(file.tokens(), 3);
  file.read(0, 3, ids.data());
  EXPECT_EQ(ids, (std::vector<std::int32_t>{1, 2, 3}));
}

/// A name that was on the way of an earlier version is the user's.
TEST_F(TokenFiles, NamesBesideAreLeftAlone) {
  const std::string made = folder_ / "made";
  put(".bin", example_bin);
  fs::create_symlink(prefix_ + ".bin", made + ".bin.partial");
  data::TokenWriter writer(made, 6);
  writer.append(std::vector<std::int32_t>{1});
  writer.end_document();
  writer.finish();
  EXPECT_TRUE(fs::is_symlink(made + ".bin.partial"));
  EXPECT_EQ(get(prefix_ + ".bin"), example_bin);
}

struct Defect {
  std::string name, ending, expected;
  std::function<void(std::string&)> damage;
};

/// Sets one byte.
auto byte(std::size_t place, int value) {
  return [=](std::string& bytes) { bytes.at(place) = static_cast<char>(value); };
}

TEST_F(TokenFiles, EveryDefectIsRefused) {
  // Offsets: 34 lengths, 42 pointers, 58 document boundaries.
  const std::vector<Defect> defects = {
      {"empty index", ".idx", "truncated: 0 bytes", [](std::string& b) { b.clear(); }},
      {"half a header", ".idx", "truncated: 20 bytes", [](std::string& b) { b.resize(20); }},
      {"magic", ".idx", "MMIDIDX", byte(0, 'X')},
      {"version", ".idx", "version 2: expected 1", byte(9, 2)},
      {"uint8", ".idx", "uint8", byte(17, 1)},
      {"float32", ".idx", "float32 (code 7)", byte(17, 7)},
      {"unknown type", ".idx", "unknown (code 9)", byte(17, 9)},
      {"cut by one byte", ".idx", "81 bytes are too few", [](std::string& b) { b.pop_back(); }},
      {"absurd count", ".idx", "truncated", byte(25, 0x7f)},
      {"absurd boundaries", ".idx", "truncated", byte(33, 0xff)},
      {"multimodal", ".idx", "multimodal", [](std::string& b) { b += "\0\0"s; }},
      {"too long", ".idx", "too long: 85 bytes, expected 82", [](std::string& b) { b += "abc"; }},
      {"negative length", ".idx", "sequence 1 has the length -", byte(41, 0x80)},
      {"first pointer", ".idx", "sequence 0 begins at byte 2: expected 0", byte(42, 2)},
      {"second pointer", ".idx", "sequence 1 begins at byte 5: expected 6", byte(50, 5)},
      {"first boundary", ".idx", "boundary 0 is 1", byte(58, 1)},
      {"falling boundaries", ".idx", "boundary 1 is -", byte(73, 0xff)},
      {"last boundary", ".idx", "boundary 2 is 1", byte(74, 1)},
      {"boundary beyond", ".idx", "boundary 1 is 3", byte(66, 3)},
      {"length and ids differ", ".idx", "expected 12", byte(38, 3)},
      {"ids cut", ".bin", "truncated: 9 bytes, expected 10", [](std::string& b) { b.pop_back(); }},
      {"no ids", ".bin", "truncated: 0 bytes", [](std::string& b) { b.clear(); }},
      {"ids too long", ".bin", "too long: 11 bytes, expected 10", [](std::string& b) { b += 'x'; }},
      {"id beyond the vocabulary", ".bin", "token 4 is 6: expected ids from 0 to 5", byte(8, 6)},
  };
  for (const Defect& defect : defects) {
    put(".bin", example_bin);
    put(".idx", example_idx);
    std::string bytes = defect.ending == ".idx" ? example_idx : example_bin;
    defect.damage(bytes);
    put(defect.ending, bytes);
    const std::string message = refusal_to_open();
    EXPECT_NE(message.find(defect.expected), std::string::npos) << defect.name << " gave: " << message;
    EXPECT_EQ(message.rfind(prefix_, 0), 0u) << "begins with the file: " << message;
  }
}

TEST_F(TokenFiles, NegativeIdIsRefused) {
  std::string index = example_idx;
  index[17] = 4;  // int32: pointers 0 and 12
  index[50] = 12;
  put(".idx", index);
  const std::int32_t ids[] = {1, 2, 3, -1, 5};
  put(".bin", std::string(reinterpret_cast<const char*>(ids), sizeof ids));
  EXPECT_EQ(refusal_to_open(), prefix_ + ".bin: token 3 is -1: expected ids from 0 to 5 (model.vocabulary = 6)");
  std::vector<std::int32_t> out(2);
  EXPECT_NE(refusal([&] { data::TokenFile(prefix_, 6).read(2, 2, out.data()); }).find("token 3 is -1"), std::string::npos);
}

TEST_F(TokenFiles, MissingHalvesAreNamed) {
  for (const std::string ending : {".bin", ".idx"}) {
    put(".bin", example_bin);
    put(".idx", example_idx);
    fs::remove(prefix_ + ending);
    EXPECT_EQ(refusal_to_open().rfind(prefix_ + ending + ": no such file", 0), 0u);
  }
}

}  // namespace
