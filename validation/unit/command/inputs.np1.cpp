// Every command, given what is no regular file where it reads one: it neither waits nor reads for ever. Oracle: the status and
// the words; a command that hangs is killed and gives 124.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "validation/unit/support/run_files.h"

namespace trireme::test {
namespace {

constexpr double seconds = 20;

class Inputs : public testing::Test {
 protected:
  Inputs() {
    EXPECT_EQ(
        run(on_ranks(1, {"train", "input/tiny.toml", "run.directory=" + run_, "run.steps=1", "model.layers=1", "trace.steps=1"}),
            60)
            .status,
        0);
    EXPECT_EQ(call({"prepare", "input/tiny.toml", "--output", tokens_}).status, 0);
    EXPECT_EQ(mkfifo(pipe_.c_str(), 0666), 0);
  }

  static Result call(std::vector<std::string> words) {
    words.insert(words.begin(), program().string());
    return run(words, seconds);
  }
  static void expect(const Result& result, int status, const std::string& says) {
    EXPECT_EQ(result.status, status) << result.out << result.err;
    EXPECT_NE((result.out + result.err).find(says), std::string::npos) << says << "\n" << result.out << result.err;
  }
  /// Puts a pipe in the place of a file while `words` are called.
  void expect_instead_of(const std::string& file, const std::vector<std::string>& words, int status) {
    SCOPED_TRACE(file);
    fs::rename(file, file + ".away");
    fs::create_symlink(pipe_, file);
    expect(call(words), status, file + ": is not a regular file, but a pipe");
    fs::remove(file);
    fs::rename(file + ".away", file);
  }

  const Folder folder_;
  const std::string run_ = folder_ / "run", tokens_ = folder_ / "tokens", pipe_ = folder_ / "pipe";
  const std::string step_ = run_ + "/checkpoints/step-00000001", trace_ = run_ + "/traces/step-00000001.h5";
};

TEST_F(Inputs, FilesThatAreNamed) {
  const std::vector<std::vector<std::string>> commands = {
      {"train", "X"},
      {"train", "input/tiny.toml", "model.initial=X", "run.directory=" + folder_ / "new"},
      {"check", "X", "--ranks", "1"},
      {"prepare", "X", "--output", folder_ / "none"},
      {"compare", "X", run_ + "/metrics.csv"},
      {"compare", run_ + "/metrics.csv", "X"},
      {"compare", run_, run_, "--tolerance", "X"},
      {"checkpoint", "import", "X", folder_ / "step", "heads=4"},
      {"trace", "X"},
  };
  const std::vector<std::pair<std::string, std::string>> things = {
      {pipe_, "a pipe"}, {"/dev/zero", "a device"}, {"/dev/stdin", "a device"}};
  for (const auto& [path, what] : things)
    for (std::vector<std::string> words : commands) {
      SCOPED_TRACE(words[0] + " " + path);
      for (std::string& word : words)
        if (const auto at = word.find('X'); at != std::string::npos) word.replace(at, 1, path);
      expect(call(words), 2, path + ": is not a regular file, but " + what);
    }
  EXPECT_FALSE(fs::exists(folder_ / "new"));
}

TEST_F(Inputs, FilesThatAreFound) {
  const std::vector<std::string> train = {"train", "input/tiny.toml", "data.synthetic=false", "data.tokens=" + tokens_,
                                          "run.directory=" + folder_ / "new"};
  expect_instead_of(tokens_ + ".bin", train, 2);
  expect_instead_of(tokens_ + ".idx", train, 2);
  expect_instead_of(run_ + "/metrics.csv", {"plot", run_}, 2);
  expect_instead_of(run_ + "/metrics.csv", {"compare", run_, run_}, 2);
  expect_instead_of(trace_, {"trace", trace_}, 2);
  const std::vector<std::string> verify = {"checkpoint", "verify", run_}, show = {"checkpoint", "show", step_};
  for (const char* name : {"checkpoint.h5", "shard-p000-t000-d000.h5"}) expect_instead_of(step_ + "/" + name, verify, 3);
  fs::rename(step_ + "/manifest.json", folder_ / "manifest");
  fs::create_symlink(pipe_, step_ + "/manifest.json");
  EXPECT_EQ(call(show).status, 3);
  EXPECT_EQ(call(verify).status, 3);
}

TEST_F(Inputs, AFileThatIsFarTooLargeForTextIsNotRead) {
  const std::string large = folder_ / "large.toml";
  std::ofstream(large) << "[model]";
  fs::resize_file(large, std::uintmax_t{1} << 40);
  expect(call({"check", large, "--ranks", "1"}), 2, large + ": is larger than 1.0 GiB");
  expect(call({"compare", large, run_}), 2, large + ": is larger than 1.0 GiB");
  expect(call({"compare", run_, run_, "--tolerance", large}), 2, large + ": is larger than 1.0 GiB");
}

}  // namespace
}  // namespace trireme::test
