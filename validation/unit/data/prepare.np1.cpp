// trireme prepare, as a user calls it. Oracle: the bytes of the texts, and what must not be there after a refusal.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "command/commands.h"
#include "data/token_file.h"
#include "validation/unit/support/process.h"

namespace {

using namespace trireme;
namespace fs = std::filesystem;

class Prepare : public testing::Test {
 protected:
  Prepare() {
    fs::create_directory(folder_);
    std::ofstream(folder_ / "a.txt") << "abc\xff";
    std::ofstream(folder_ / "b.txt") << std::string(100000, 'z');
    std::ofstream(folder_ / "empty.txt");
  }
  ~Prepare() override { fs::remove_all(folder_); }

  std::string at(const std::string& name) const { return folder_ / name; }

  static int run(std::vector<std::string> words) {
    words.insert(words.begin(), "prepare");
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    return command::prepare(static_cast<int>(words.size()), argv.data());
  }
  /// The message of a bad_input after which the folder is as before.
  std::string refusal(const std::vector<std::string>& words) const {
    const auto files = [&] { return std::distance(fs::directory_iterator(folder_), {}); };
    const auto before = files();
    try {
      run(words);
    } catch (const base::Error& error) {
      EXPECT_EQ(error.status(), base::Exit::bad_input);
      EXPECT_EQ(files(), before);
      return error.what();
    }
    return "nothing was refused";
  }

  const fs::path folder_ = fs::temp_directory_path() / ("prepare." + std::to_string(getpid()));
};

TEST_F(Prepare, OneDocumentAText) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(run({at("a.txt"), at("b.txt"), "--output", at("out")}), 0);
  const std::string said = testing::internal::GetCapturedStdout();
  EXPECT_NE(said.find("2 documents, 100004 tokens"), std::string::npos) << said;
  EXPECT_NE(said.find("k=3 0.0"), std::string::npos) << said;
  const data::TokenFile file(at("out"), 256);
  file.check_ids();
  EXPECT_EQ(file.documents(), 2);
  ASSERT_EQ(file.tokens(), 100004);
  std::vector<std::int32_t> ids(100004);
  file.read(0, 100004, ids.data());
  std::vector<std::int32_t> expected = {'a', 'b', 'c', 255};
  expected.resize(100004, 'z');
  EXPECT_EQ(ids, expected);
}

TEST_F(Prepare, RefusesAndChangesNothing) {
  EXPECT_NE(refusal({at("none.txt"), "--output", at("out")}).find("none.txt"), std::string::npos);
  EXPECT_NE(refusal({at("a.txt"), at("empty.txt"), "--output", at("out")}).find("empty.txt: empty"), std::string::npos);
  EXPECT_NE(refusal({at("a.txt"), "--output", at("a.txt/out")}).find("cannot make this folder"), std::string::npos);
  EXPECT_NE(refusal({at("a.txt"), "--output", at("out"), "--tokenizer", "gpt2:x"}).find("only bytes is built"),
            std::string::npos);
  for (const std::string& no_prefix : {std::string(), at("new/"), at("out.bin"), at("out.idx")})
    EXPECT_NE(refusal({at("a.txt"), "--output", no_prefix}).find("expected a prefix"), std::string::npos) << no_prefix;
  EXPECT_NE(refusal({at("a.txt")}).find("--output"), std::string::npos);
  EXPECT_NE(refusal({"--output", at("out")}).find("TEXT"), std::string::npos);
  EXPECT_NE(refusal({folder_, "--output", at("out")}).find("not a regular file"), std::string::npos);
}

TEST_F(Prepare, RefusesAnOutputThatIsThere) {
  testing::internal::CaptureStdout();
  run({at("a.txt"), "--output", at("out")});
  testing::internal::GetCapturedStdout();
  EXPECT_NE(refusal({at("b.txt"), "--output", at("out")})
                .find("out.bin: exists already, and is not replaced. Choose another output, or remove "),
            std::string::npos);
  EXPECT_EQ(data::TokenFile(at("out"), 256).tokens(), 4);
}

/// Oracle: the first bytes of files that these programs make.
TEST_F(Prepare, RefusesATextInAnotherForm) {
  using namespace std::string_literals;
  const std::vector<std::pair<std::string, std::string>> forms = {
      {"\x1f\x8b\x08\0"s, "is compressed by gzip"},
      {"\x28\xb5\x2f\xfd\x04"s, "is compressed by zstd"},
      {"\xfd\x37zXZ\0\0"s, "is compressed by xz"},
      {"BZh91AY&SY"s, "is compressed by bzip2"},
      {"\x04\x22\x4d\x18\x64"s, "is compressed by lz4"},
      {"PK\x03\x04\x14"s, "is a zip archive"},
      {std::string(257, 'a') + "ustar\0"s, "is a tar archive"},
      {"PAR1\x15"s, "is a Parquet table"},
      {"%PDF-1.7"s, "is a PDF document"},
      {"\xff\xfeT\0"s, "is text in UTF-16"},
      {"MMIDIDX\0\0\1"s, "is the index of a token file"},
  };
  for (const auto& [bytes, says] : forms) {
    std::ofstream(folder_ / "c.txt", std::ios::binary) << bytes << "and more";
    const std::string message = refusal({at("a.txt"), at("c.txt"), "--output", at("out")});
    EXPECT_EQ(message.rfind(at("c.txt") + ": " + says, 0), 0u) << message;
  }
  std::ofstream(folder_ / "c.txt") << "BZh and PK are no magic";  // a text
  EXPECT_EQ(refusal({at("c.txt"), "--output", at("out")}), "nothing was refused");
}

/// Files that a user might take for a text. Oracle: the bytes that such files have, written here; a program that is there.
TEST_F(Prepare, RefusesWhatIsNoPlainText) {
  using namespace std::string_literals;
  std::string utf_16, tokens, weights = "\x08\0\0\0\0\0\0\0{\"a\":{}}"s;
  for (const char c : "text without a mark of its order"s) utf_16 += std::string(1, '\0') + c, tokens += std::string(1, c) + '\0';
  const std::vector<std::pair<std::string, std::string>> files = {
      {test::read_text("/proc/self/exe").substr(0, 5000), "is a program"},
      {"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"s, "is a picture"},
      {"\xff\xd8\xff\xe0\0\x10JFIF"s, "is a picture"},
      {"\x89HDF\r\n\x1a\n\0"s, "is an HDF5 file"},
      {"GGUF\x03\0\0\0"s, "is a GGUF file"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n"s, "is a pointer of Git LFS"},
      {"\xff\xfe\0\0T\0\0\0"s, "is text in UTF-32"},
      {weights, "is a safetensors file"},
      {tokens, "is no plain text: its byte 1 is zero"},
      {utf_16, "is no plain text: its byte 0 is zero"},
      {std::string(60000, 'a') + "\0 more"s, "is no plain text: its byte 60000 is zero"}};
  for (const auto& [bytes, says] : files) {
    std::ofstream(folder_ / "c.txt", std::ios::binary) << bytes;
    const std::string message = refusal({at("a.txt"), at("c.txt"), "--output", at("out")});
    EXPECT_EQ(message.rfind(at("c.txt") + ": " + says, 0), 0u) << message;
    const bool advises = message.find("iconv -f UTF-16 -t UTF-8 '" + at("c.txt") + "'") != std::string::npos;
    EXPECT_EQ(advises, says.find("zero") != std::string::npos) << message;
  }
  for (const char* text : {"<html>is a text</html>", "12345678{\"is\": \"a text\"}", "\xe4\xf6 is Latin-1"}) {
    std::ofstream(folder_ / "c.txt", std::ios::binary) << text;
    EXPECT_EQ(refusal({at("c.txt"), "--output", at("out")}), "nothing was refused") << text;
    fs::remove(folder_ / "out.bin"), fs::remove(folder_ / "out.idx");
  }
}

TEST_F(Prepare, CountsOneThingAsOne) {
  std::ofstream(folder_ / "one.txt") << "x";
  testing::internal::CaptureStdout();
  EXPECT_EQ(run({at("one.txt"), "--output", at("out")}), 0);
  const std::string said = testing::internal::GetCapturedStdout();
  EXPECT_NE(said.find("out.idx: 1 document, 1 token (bytes"), std::string::npos) << said;
}

TEST_F(Prepare, RefusesJsonByItsName) {
  for (const char* name : {"d.jsonl", "d.JSON", "d.ndjson"}) {
    std::ofstream(folder_ / name) << R"({"text": "a"})"
                                  << "\n";
    const std::string message = refusal({at(name), "--output", at("out")});
    EXPECT_NE(message.find("is JSON by its name"), std::string::npos) << message;
    EXPECT_NE(message.find("jq -r .text '" + at(name) + "'"), std::string::npos) << message;
  }
}

/// Two programs at once on one output: one makes it, whole, and the other says so. Oracle: the texts.
TEST_F(Prepare, OfTwoAtOnceOneMakesTheOutput) {
  std::ofstream(folder_ / "y.txt") << std::string(3000000, 'y');
  std::ofstream(folder_ / "z.txt") << std::string(2000000, 'z');
  const test::Folder one, two;
  test::Process y({test::program(), "prepare", at("y.txt"), "--output", at("out")}, one);
  test::Process z({test::program(), "prepare", at("z.txt"), "--output", at("out")}, two);
  const int ends[] = {y.wait(60).status, z.wait(60).status};
  EXPECT_TRUE((ends[0] == 0 && ends[1] == 2) || (ends[0] == 2 && ends[1] == 0)) << ends[0] << " " << ends[1];
  const data::TokenFile file(at("out"), 256);
  ASSERT_EQ(file.tokens(), ends[0] == 0 ? 3000000 : 2000000);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(file.tokens()));
  file.read(0, file.tokens(), ids.data());
  EXPECT_EQ(ids, std::vector<std::int32_t>(ids.size(), ends[0] == 0 ? 'y' : 'z'));
  for (const auto& entry : fs::directory_iterator(folder_)) EXPECT_NE(entry.path().extension(), ".partial") << entry.path();
}

TEST_F(Prepare, HelpNamesTheOptions) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(run({"--help"}), 0);
  const std::string said = testing::internal::GetCapturedStdout();
  for (const char* name : {"TEXT", "--output", "--tokenizer"}) EXPECT_NE(said.find(name), std::string::npos) << said;
}

}  // namespace
