// Units, words and whole files. Oracle: values and texts worked out by hand; all comparisons exact.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/new_file.h"
#include "base/new_folders.h"
#include "base/progress.h"
#include "base/text.h"
#include "base/units.h"
#include "validation/unit/support/file_size_limit.h"

namespace trireme::base {
namespace {

template <class F>
void expect_refused(F parse, const std::vector<const char*>& texts) {
  for (const char* text : texts) {
    try {
      parse(text);
      ADD_FAILURE() << "accepted: '" << text << "'";
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Exit::bad_input) << text;
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  }
}

TEST(Units, CountsAreExact) {
  const std::vector<std::pair<const char*, std::int64_t>> good = {{"20", 20},
                                                                  {" +7 ", 7},
                                                                  {"-3", -3},
                                                                  {"1e6", 1000000},
                                                                  {"1.5e3", 1500},
                                                                  {"1500e-2", 15},
                                                                  {"0.0", 0},
                                                                  {"0e99", 0},
                                                                  {"1_000_000", 1000000},
                                                                  {"9007199254740993", 9007199254740993},  // no double
                                                                  {"9223372036854775807", 9223372036854775807}};
  for (const auto& [text, value] : good) EXPECT_EQ(parse_count(text), value) << text;
  expect_refused(parse_count, {"", "1.5", "15e-2", "1e19", "9223372036854775808", "nan", "inf", "0x10", "1e", "1.", ".5", "_1",
                               "1_", "1__0", "1 0", "12k", "1e1000", "--1"});
}

TEST(Units, RealsAreFinite) {
  EXPECT_EQ(parse_real("3e-4"), 3e-4);
  EXPECT_EQ(parse_real("+0.1"), 0.1);
  EXPECT_EQ(parse_real("1_000.5"), 1000.5);
  expect_refused(parse_real, {"", "nan", "inf", "-inf", "1e999", "1,5", "1.5x", "+-1"});
}

TEST(Units, Durations) {
  const std::vector<std::pair<const char*, double>> good = {
      {"90", 90},          {"0.5", 0.5},       {"90s", 90},           {"30m", 1800},          {"1.5h", 5400},
      {"04:00:00", 14400}, {"4:00:00", 14400}, {"100:00:01", 360001}, {"1-12:00:00", 129600}, {"1-12:00", 129600},
      {"2-3", 183600},     {"1e-3", 0.001},    {"1:59", 119},         {"59:59", 3599},        {"0:05", 5},
      {"UNLIMITED", 0},    {"NOT_SET", 0},     {"INVALID", 0}};
  for (const auto& [text, seconds] : good) EXPECT_EQ(parse_duration(text), seconds) << text;
  expect_refused(parse_duration, {"", "4x", "1:60:00", "1:00:60", "60:00", "1:60", "1-24:00:00", "1-", "1-2:3:4:5", "unlimited",
                                  "1:2:3:4", "1-", "-1-00:00:00", "a-00:00:00", "h"});
}

TEST(Text, OneThingIsCountedAsOne) {
  EXPECT_EQ(counted(1, "rank"), "1 rank");
  EXPECT_EQ(counted(0, "rank"), "0 ranks");
  EXPECT_EQ(counted(-1, "rank"), "-1 ranks");
  EXPECT_EQ(counted(1, "microbatch", "es"), "1 microbatch");
  EXPECT_EQ(counted(std::int64_t{1} << 40, "microbatch", "es"), "1099511627776 microbatches");
}

TEST(Units, RealTextReadsBackAsTheSameDouble) {
  EXPECT_EQ(real_text(0.1), "0.1");
  for (const double value : {1.0 / 3, 1e-8, 65536.0, 5e-324, std::numeric_limits<double>::max(), -2.5e17}) {
    EXPECT_EQ(std::strtod(real_text(value).c_str(), nullptr), value);
  }
}

TEST(Units, Texts) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1024), "1.0 KiB");
  EXPECT_EQ(bytes_text(1048575), "1.0 MiB");  // 1024.0 KiB would round to four digits
  EXPECT_EQ(bytes_text(65713995776.0), "61.2 GiB");
  EXPECT_EQ(time_text(2021), "0:33:41");
  EXPECT_EQ(time_text(59.6), "0:01:00");
  EXPECT_EQ(time_text(360001), "100:00:01");
  EXPECT_EQ(rate_text(1.27e6), "1.27 M");
  EXPECT_EQ(rate_text(12700), "12.7 k");
  EXPECT_EQ(rate_text(999.7), "1.00 k");
  EXPECT_EQ(rate_text(127), "127 ");
  EXPECT_EQ(rate_text(3.15e23), "315 Z");
}

TEST(Text, EditDistance) {
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("tesnor", "tensor"), 1);  // one swap
  EXPECT_EQ(edit_distance("same", "same"), 0);
}

TEST(Text, NearestWords) {
  const std::vector<std::string> words = {"layers", "hidden", "heads", "every", "steps"};
  using Words = std::vector<std::string>;
  EXPECT_EQ(nearest_words("n_layer", words), Words{"layers"});
  EXPECT_EQ(nearest_words("step", words), Words{"steps"});
  EXPECT_EQ(nearest_words("lr", words), Words{});  // half of two letters: only one change
  EXPECT_EQ(nearest_words("ab", {"aa", "bb", "cc"}), (Words{"aa", "bb"}));
}

/// 2,000 words of a million letters: by comparing letters it would take days.
TEST(Text, NearestWordsTakesWordsOfAnyLength) {
  const std::vector<std::string> words(2000, std::string(1000, 'x'));
  EXPECT_EQ(nearest_words(std::string(1000000, 'x'), words), std::vector<std::string>{});
  EXPECT_EQ(nearest_words("layrs", {std::string(1000000, 'l'), "layers"}), std::vector<std::string>{"layers"});
}

TEST(Text, Clipped) {
  EXPECT_EQ(clipped("abc", 3), "abc");
  EXPECT_EQ(clipped("abcd", 3), "abc ...");
  EXPECT_EQ(clipped("ab\u00e9d", 3), "ab ...");  // \u00e9 is two bytes
  EXPECT_EQ(clipped(std::string(1000000, 'x')).size(), 204u);
}

TEST(Text, ListsAndPieces) {
  EXPECT_EQ(alternatives({}), "");
  EXPECT_EQ(alternatives({"a"}), "a");
  EXPECT_EQ(alternatives({"a", "b", "c"}), "a, b or c");
  EXPECT_EQ(split(" 1, 2 ,,", ','), (std::vector<std::string>{"1", "2", "", ""}));
  EXPECT_TRUE(split("  ", ',').empty());
}

class Folder : public testing::Test {
 protected:
  Folder() {
    char name[] = "/tmp/trireme-base-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~Folder() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::size_t files() const { return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {})); }

 private:
  std::string folder_;
};

/// Expects an Error of `status` that names the file and holds the system's words, or others.
template <class F>
void expect_error(F call, Exit status, const std::string& path, int number, const std::string& words = "") {
  try {
    call();
    ADD_FAILURE() << "no error for " << path;
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), status);
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(words.empty() ? std::strerror(number) : words), std::string::npos) << error.what();
  }
}

TEST_F(Folder, WriteReplacesWholeFileAndLeavesNothingElse) {
  const std::string content = std::string("a\0b\n", 4) + std::string(200000, 'x');
  write_file_atomically(path("f"), "old");
  write_file_atomically(path("f"), content);
  EXPECT_EQ(read_file(path("f")), content);
  EXPECT_EQ(files(), 1u);
}

TEST_F(Folder, ReadersOfTheOldFileKeepIt) {
  write_file_atomically(path("f"), "old");
  std::ifstream reader(path("f"));
  write_file_atomically(path("f"), "new");
  std::string seen;
  reader >> seen;
  EXPECT_EQ(seen, "old");  // replaced by rename, not written over
}

TEST_F(Folder, FailedWriteKeepsTheOldContent) {
  ::mkdir(path("f").c_str(), 0777);  // a folder cannot be replaced by a file
  expect_error([&] { write_file_atomically(path("f"), "new"); }, Exit::failure, path("f"), EISDIR);
  EXPECT_EQ(files(), 1u);
  expect_error([&] { write_file_atomically(path("no/f"), "new"); }, Exit::failure, path("no/f"), ENOENT);
}

TEST_F(Folder, ReadErrorsNameTheFile) {
  expect_error([&] { read_file(path("none")); }, Exit::bad_input, path("none"), ENOENT);
  EXPECT_THROW(read_file(path("")), Error);
  expect_error([&] { MappedFile(path("none")); }, Exit::bad_input, path("none"), ENOENT);
  EXPECT_THROW(MappedFile(path("")), Error);
}

TEST_F(Folder, TwoWritersOfOneNameWriteTwoFiles) {
  NewFile first(path("f")), second(path("f"));
  first.write("first", 5), second.write("2nd", 3), first.write("!", 1);
  second.publish();
  EXPECT_EQ(read_file(path("f")), "2nd");
  first.publish();
  EXPECT_EQ(read_file(path("f")), "first!");
  EXPECT_EQ(files(), 1u);
}

/// A limit on sizes makes the system write a part of what it is given.
TEST_F(Folder, AllIsWrittenOrTheErrorIsTold) {
  const Descriptor file(path("f"), O_RDWR | O_CREAT, Exit::failure);
  EXPECT_EQ(write_all(file.get(), "abcdef"), 0);
  EXPECT_EQ(write_all(file.get(), "XY", 2), 0);  // leaves where the file stands
  EXPECT_EQ(write_all(file.get(), "g"), 0);
  EXPECT_EQ(read_file(path("f")), "abXYefg");
  {
    const test::FileSizeLimit limit(10);
    EXPECT_EQ(write_all(file.get(), std::string(20, 'z')), EFBIG);
  }
  EXPECT_EQ(read_file(path("f")), "abXYefgzzz");
  EXPECT_EQ(write_all(-1, "x"), EBADF);
}

TEST(SystemWords, SayWhatToLookAt) {
  EXPECT_EQ(system_words(ENOSPC), "No space left on device");
  EXPECT_EQ(system_words(EDQUOT), "Disk quota exceeded (see `quota`)");
  EXPECT_EQ(system_words(std::make_error_code(std::errc::file_too_large)),
            "File too large (a limit on the size of files is in force: see `ulimit -f`)");
}

TEST_F(Folder, FoldersThatAreEmptyAtTheEndGoAgain) {
  std::filesystem::create_directory(path("there"));
  {
    const NewFolders empty(path("there/a/b/c")), used(path("there/d/e")), none(""), again(path("there"));
    write_file_atomically(path("there/d/f"), "x");
    EXPECT_TRUE(std::filesystem::is_directory(path("there/a/b/c")));
    EXPECT_TRUE(std::filesystem::is_directory(path("there/d/e")));
  }
  EXPECT_FALSE(std::filesystem::exists(path("there/a")));
  EXPECT_FALSE(std::filesystem::exists(path("there/d/e")));
  EXPECT_TRUE(std::filesystem::exists(path("there/d/f")));
  NewFolders(path("kept/a")).keep();
  EXPECT_TRUE(std::filesystem::is_directory(path("kept/a")));
  expect_error([&] { NewFolders(path("there/new/../d/f/h")); }, Exit::bad_input, path("there/new/../d/f"), EEXIST);
  EXPECT_FALSE(std::filesystem::exists(path("there/new"))) << "made before the one that could not be";
}

TEST_F(Folder, ANameThatWasTakenMeanwhileIsLeft) {
  NewFile late(path("f"));
  late.write("late", 4);
  std::filesystem::create_symlink("nowhere", path("f"));  // a name is taken by a link too
  expect_error([&] { late.publish_first(); }, Exit::bad_input, path("f"), 0, "another program made this file");
  EXPECT_TRUE(std::filesystem::is_symlink(path("f")));
  const std::string partial = make_partial_folder(path("g"));
  std::filesystem::create_directory(path("g"));
  EXPECT_FALSE(rename_first(partial, path("g")));
  EXPECT_TRUE(std::filesystem::is_directory(partial));
}

TEST_F(Folder, WritingReplacesALinkAndNotWhatItLeadsTo) {
  write_file_atomically(path("theirs"), "theirs");
  std::filesystem::create_symlink("theirs", path("f"));
  std::filesystem::create_symlink("theirs", path("f.partial"));
  write_file_atomically(path("f"), "mine");
  EXPECT_EQ(read_file(path("theirs")), "theirs");
  EXPECT_EQ(read_file(path("f")), "mine");
  EXPECT_TRUE(std::filesystem::is_symlink(path("f.partial")));
  EXPECT_FALSE(std::filesystem::is_symlink(path("f")));
}

TEST_F(Folder, NewFilesHaveTheRightsThatTheUmaskLeaves) {
  const mode_t before = ::umask(0027);
  write_file_atomically(path("f"), "x");
  ::umask(before);
  struct stat status = {};
  ASSERT_EQ(::stat(path("f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST(FinalName, IsThatOfItsOwnPartsOnly) {
  EXPECT_EQ(final_name("status.0a1b2c.partial"), "status");
  EXPECT_EQ(final_name("a.b.ffffff.partial"), "a.b");
  for (const char* other : {"status.partial", "status.0a1b2g.partial", "status.0a1b2.partial", ".0a1b2c.partial", "status", "",
                            "status0a1b2c.partial", "status.0a1b2c.partial.x"})
    EXPECT_EQ(final_name(other), other);
}

/// Made-up times: 100 bytes a second.
TEST(Progress, SaysNothingForAWhileAndThenWhatIsLeft) {
  Progress progress("reads", 4096, 50, 10);
  EXPECT_EQ(progress.line(0, 50), "");
  EXPECT_EQ(progress.line(1000, 59.9), "");
  EXPECT_EQ(progress.line(1024, 60), "reads: 1.0 KiB of 4.0 KiB, 102 B/s, 0:00:30 left\n");
  EXPECT_EQ(progress.line(1100, 61), "");
  EXPECT_EQ(progress.line(2048, 95), "reads: 2.0 KiB of 4.0 KiB, 46 B/s, 0:00:45 left\n");
  EXPECT_EQ(progress.line(2100, 99), "");
  EXPECT_NE(progress.line(2200, 100), "");
  Progress empty("reads", 0, 0, 1);
  EXPECT_EQ(empty.line(0, 100), "");
}

TEST_F(Folder, MappedFileHasTheBytesAndMoves) {
  write_file_atomically(path("f"), "abc");
  write_file_atomically(path("empty"), "");
  MappedFile first(path("f"));
  const MappedFile second(std::move(first));
  ASSERT_EQ(second.bytes().size(), 3u);
  EXPECT_EQ(std::memcmp(second.bytes().data(), "abc", 3), 0);
  EXPECT_TRUE(MappedFile(path("empty")).bytes().empty());
}

}  // namespace
}  // namespace trireme::base
