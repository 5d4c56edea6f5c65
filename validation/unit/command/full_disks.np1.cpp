// Every command that writes a file, on disks that fail in every way: one message that names the file, the file that had the name
// stays, and nothing is left beside. Oracle: the listing and the bytes before.
#include <map>
#include <memory>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "validation/unit/support/file_faults.h"
#include "validation/unit/support/run_files.h"

namespace trireme::test {
namespace {

struct Writer {
  std::vector<std::string> words;
  std::string output;       // a file or a folder
  std::string former = {};  // an earlier result, which it replaces; empty: nothing may be there
};

/// What commands take for earlier results of theirs.
const std::string former_drawing = "<svg>former</svg>", former_trace = R"({"traceEvents":["former"]})",
                  former_report = "<testsuites>former</testsuites>", former_weights = std::string("\2\0\0\0\0\0\0\0{}", 10);

struct Failure {
  std::string calls, says;
};

class FullDisks : public testing::Test {
 protected:
  /// The run that the commands read, once for all tests.
  static void SetUpTestSuite() {
    inputs = std::make_unique<Folder>();
    const std::string run = *inputs / "run";
    const auto train =
        on_ranks(1, {"train", "input/tiny.toml", "run.directory=" + run, "run.steps=2", "model.layers=1", "trace.steps=1"});
    EXPECT_EQ(test::run(train, 60).status, 0);
    EXPECT_EQ(test::run({program().string(), "checkpoint", "export", run, *inputs / "model.safetensors"}).status, 0);
    fs::create_directory(run + "/plots");
  }
  static void TearDownTestSuite() { inputs.reset(); }
  FullDisks() { fs::create_directory(out_); }

  std::vector<Writer> writers() const {
    const std::string trace = run_ + "/traces/step-00000001.h5";
    return {
        {{"prepare", "input/tiny.toml", "--output", out_ / "tokens"}, out_ / "tokens.bin"},
        {{"checkpoint", "export", run_, out_ / "m.safetensors"}, out_ / "m.safetensors", former_weights},
        {{"checkpoint", "import", model_, out_ / "step", "heads=4"}, out_ / "step"},
        {{"trace", trace, "--svg", out_ / "t.svg"}, out_ / "t.svg", former_drawing},
        {{"trace", trace, "--perfetto", out_ / "t.json"}, out_ / "t.json", former_trace},
        {{"schedule", "parallel.pipeline=2", "batch.global=8", "--svg", out_ / "s.svg"}, out_ / "s.svg", former_drawing},
        {{"compare", run_, run_, "--junit", out_ / "j.xml"}, out_ / "j.xml", former_report},
    };
  }
  std::map<std::string, std::string> listing() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(out_))
      files[entry.path()] = entry.is_regular_file() ? read_text(entry.path()) : "";
    return files;
  }
  /// Of a file, or of all files of a folder; nothing for what is not there.
  static std::string bytes_of(const std::string& path) {
    if (!fs::is_directory(path)) return read_text(path);
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(path)) files[entry.path()] = read_text(entry.path());
    std::string all;
    for (const auto& [name, bytes] : files) all += name + "\n" + bytes;
    return all;
  }
  void expect_failed(const Result& result, const std::string& says) const {
    EXPECT_TRUE(result.status == 1 || result.status == 2) << result.status << result.out << result.err;
    EXPECT_NE(result.err.find(says), std::string::npos) << says << "\n" << result.err;
    EXPECT_NE(result.err.find(out_), std::string::npos) << "names the file: " << result.err;
    EXPECT_LE(occurrences(result.err, "\n"), 2) << result.err;
  }

  inline static std::unique_ptr<Folder> inputs;
  const std::string run_ = *inputs / "run", model_ = *inputs / "model.safetensors";
  const Folder folder_;
  const fs::path out_ = folder_.path() / "out";
};

TEST_F(FullDisks, EveryWriterKeepsTheFormerFileAndSaysWhatFailed) {
  const std::vector<Failure> failures = {
      {fails_with("write", ENOSPC), "No space left on device"},
      {fails_with("write", EDQUOT), "Disk quota exceeded"},
      {fails_with("sync", EIO), "Input/output error"},
      {fails_with("close", EIO), "Input/output error"},
      {fails_with("rename", EROFS) + "," + fails_with("renameat2", EROFS), "Read-only file system"},
      {fails_with("open", EACCES) + "," + fails_with("mkdir", EACCES), "Permission denied"},
  };
  for (const Writer& writer : writers()) {
    if (!writer.former.empty()) write_text(writer.output, writer.former);
    const auto before = listing();
    for (const Failure& failure : failures) {
      SCOPED_TRACE(writer.words[0] + " " + writer.words[1] + " " + failure.calls);
      std::vector<std::string> words = writer.words;
      words.insert(words.begin(), program().string());
      const std::string told = folder_ / "told";
      const Result result = run(with_faults(words, {.calls = failure.calls, .under = out_.string() + "/", .told = told}), 30);
      ASSERT_TRUE(fs::exists(told)) << "the fault was met";
      fs::remove(told);
      expect_failed(result, failure.says);
      EXPECT_TRUE(listing() == before) << "the disk is as it was";
    }
  }
}

TEST_F(FullDisks, ALimitOfTheShellIsSaidAsSuch) {
  for (const Writer& writer : writers()) {
    SCOPED_TRACE(writer.words[0] + " " + writer.words[1]);
    const auto before = listing();
    std::vector<std::string> words = {"bash", "-c", "ulimit -f 0; exec \"$@\"", "bash", "env", "COLUMNS=80", program().string()};
    words.insert(words.end(), writer.words.begin(), writer.words.end());
    const Folder outputs;
    std::vector<std::string> piped = {"bash", "-c", "\"$@\" 2>&1 | cat", "bash"};  // the outputs are no files
    piped.insert(piped.end(), words.begin(), words.end());
    const Result result = Process(piped, outputs).wait(30);
    EXPECT_NE(result.out.find("File too large"), std::string::npos) << result.out;
    EXPECT_NE(result.out.find(out_), std::string::npos) << result.out;
    EXPECT_TRUE(listing() == before);
  }
}

/// Oracle: the output of the same command, left in peace.
TEST_F(FullDisks, AKilledWriterLeavesTheFormerOutputOrTheWholeNewOne) {
  for (const Writer& writer : writers()) {
    std::vector<std::string> words = writer.words;
    words.insert(words.begin(), program().string());
    ASSERT_EQ(run(words, 30).status, 0);
    const std::string whole = bytes_of(writer.output);
    const std::string told = folder_ / "told";
    const int stride = writer.words[0] == "checkpoint" && !std::getenv("TRIREME_LONG") ? 13 : 1;
    int kills = 0;
    for (int n = 1;; n += stride, ++kills) {
      SCOPED_TRACE(fmt::format("{} {}, killed at change {}", writer.words[0], writer.words[1], n));
      fs::remove_all(out_);
      fs::create_directory(out_);
      if (!writer.former.empty()) write_text(writer.output, writer.former);
      run(with_faults(words, {.calls = killed, .under = out_.string() + "/", .at = n, .told = told}), 30);
      if (!fs::exists(told)) break;
      fs::remove(told);
      const std::string left = bytes_of(writer.output);
      ASSERT_TRUE(left == writer.former || left == whole) << left.size() << " bytes";
    }
    EXPECT_GE(kills, 3);
  }
}

/// Half a pair would be in the way of every later start.
TEST_F(FullDisks, OfTokenFilesBothAreThereOrNone) {
  const std::vector<std::string> words = {program().string(), "prepare", "input/tiny.toml", "--output", out_ / "tokens"};
  for (const std::string& calls : {fails_with("sync", EIO), fails_with("close", EIO), fails_with("write", ENOSPC),
                                   fails_with("rename", EROFS) + "," + fails_with("renameat2", EROFS)}) {
    SCOPED_TRACE(calls);
    const Result result = run(with_faults(words, {.calls = calls, .under = out_ / "tokens.idx"}), 30);
    expect_failed(result, "tokens.idx: cannot ");
    EXPECT_TRUE(listing().empty()) << listing().begin()->first;
  }
  EXPECT_EQ(run(words, 30).status, 0);
  EXPECT_EQ(listing().size(), 2u);
}

/// Another program takes the name while the checkpoint is written.
TEST_F(FullDisks, AnImportThatComesSecondIsRefused) {
  const Result result = run(with_faults({program().string(), "checkpoint", "import", model_, out_ / "step", "heads=4"},
                                        {.calls = fails_with("renameat2", EEXIST), .under = out_.string() + "/"}),
                            30);
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err, (out_ / "step").string() + ": another program made this folder meanwhile; it was left as it is\n");
  EXPECT_TRUE(listing().empty());
}

/// plot writes into the run's folder.
TEST_F(FullDisks, PlotKeepsTheFormerDrawing) {
  const std::string loss = run_ + "/plots/loss.svg";
  write_text(loss, former_drawing);
  for (const int error : {ENOSPC, EDQUOT, EIO}) {
    const Result result =
        run(with_faults({program().string(), "plot", run_}, {.calls = fails_with("write", error), .under = "/plots/"}), 30);
    EXPECT_EQ(result.status, 1);
    EXPECT_NE(result.err.find(loss + ": cannot write: " + std::strerror(error)), std::string::npos) << result.err;
    EXPECT_EQ(read_text(loss), former_drawing);
    EXPECT_EQ(std::distance(fs::directory_iterator(run_ + "/plots"), {}), 1);
  }
}

/// Commands that make folders for what they write. The names need two, which go again.
TEST_F(FullDisks, NoFolderIsLeftOfACommandThatFailed) {
  const std::vector<std::vector<std::string>> makers = {{"prepare", "input/tiny.toml", "--output", out_ / "a/b/tokens"},
                                                        {"checkpoint", "export", run_, out_ / "a/b"},
                                                        {"checkpoint", "import", model_, out_ / "a/b/step", "heads=4"},
                                                        {"plot", run_, "--output", out_ / "a/b"}};
  for (std::vector<std::string> words : makers) {
    words.insert(words.begin(), program().string());
    for (const Failure& failure :
         {Failure{fails_with("write", ENOSPC), "No space left"}, Failure{fails_with("open", EACCES), "Permission denied"}}) {
      expect_failed(run(with_faults(words, {.calls = failure.calls, .under = out_}), 30), failure.says);
      EXPECT_TRUE(fs::is_empty(out_)) << words[1] << " " << failure.calls;
    }
    std::ofstream(out_ / "a") << "no folder";
    const Result refused = run(words, 30);
    EXPECT_EQ(refused.status, 2) << words[1];
    EXPECT_NE(refused.err.find((out_ / "a").string() + ": cannot make this folder"), std::string::npos) << refused.err;
    fs::remove(out_ / "a");
  }
}

/// A run whose every save fails: said with the reason and what to look at, the run ends, the status is 1.
TEST_F(FullDisks, ARunSaysWhyItCouldNotSave) {
  for (const auto& [error, words] : {std::pair{EDQUOT, "Disk quota exceeded (see `quota`)"}, {EFBIG, "see `ulimit -f`)"}}) {
    const std::string directory = folder_ / std::to_string(error);
    const Result result = run(with_faults(on_ranks(1, {"train", "input/tiny.toml", "run.directory=" + directory, "run.steps=2",
                                                       "model.layers=1", "checkpoint.every=1"}),
                                          {.calls = fails_with("write", error), .under = "/checkpoints/"}),
                              60);
    EXPECT_EQ(result.status, 1) << result.out << result.err;
    EXPECT_NE((result.out + result.err).find(words), std::string::npos) << result.out << result.err;
    EXPECT_EQ(column(read_text(directory + "/metrics.csv"), 0).size(), 2u);
    EXPECT_EQ(std::distance(fs::directory_iterator(directory + "/checkpoints"), {}), 0);
  }
}

}  // namespace
}  // namespace trireme::test
