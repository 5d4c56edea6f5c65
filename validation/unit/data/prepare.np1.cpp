// trireme prepare, as a user calls it. Oracle: the bytes of the texts, and what must not be there after a refusal.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "command/commands.h"
#include "data/token_file.h"

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
  EXPECT_NE(refusal({at("a.txt"), "--output", at("a.txt/out")}).find("cannot make the folder"), std::string::npos);
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
  EXPECT_NE(refusal({at("b.txt"), "--output", at("out")}).find("out.bin: exists already"), std::string::npos);
  EXPECT_EQ(data::TokenFile(at("out"), 256).tokens(), 4);
}

TEST_F(Prepare, HelpNamesTheOptions) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(run({"--help"}), 0);
  const std::string said = testing::internal::GetCapturedStdout();
  for (const char* name : {"TEXT", "--output", "--tokenizer"}) EXPECT_NE(said.find(name), std::string::npos) << said;
}

}  // namespace
