// Token files that are overwritten or replaced while a run goes on. A checkpoint tells what its weights were trained on, so none
// may be made of other tokens. Oracle: what the test did to the files and when, and what a later start finds.
#include <chrono>

#include <gtest/gtest.h>

#include "data/token_writer.h"
#include "store/checkpoint_folder.h"
#include "validation/unit/support/run_files.h"

namespace trireme::test {
namespace {

using Words = std::vector<std::string>;

constexpr int length = 40000;  // tokens of 2 bytes: more than two of the pieces that are hashed

class ChangedTokens : public testing::Test {
 protected:
  ChangedTokens() {
    write_tokens(tokens_, 1, 7);
    write_tokens(held_out_, 1, 5);
  }
  ~ChangedTokens() override {
    for (const pid_t rank : ranks_of(run_)) kill(rank, SIGKILL);
  }
  /// As new files of these names.
  void write_tokens(const std::string& prefix, int documents, int factor) const {
    for (const char* ending : {".bin", ".idx"}) fs::remove(prefix + ending);
    data::TokenWriter writer(prefix, 256);
    for (int d = 0; d < documents; ++d) {
      std::vector<std::int32_t> ids(static_cast<std::size_t>(length / documents));
      for (std::size_t k = 0; k < ids.size(); ++k) ids[k] = static_cast<std::int32_t>(k * static_cast<std::size_t>(factor) % 251);
      writer.append(ids);
      writer.end_document();
    }
    writer.finish();
  }
  static void overwrite(const std::string& path, const std::string& bytes) {
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).write(bytes.data(), std::ssize(bytes));
  }
  Words command(const Words& more) const {
    Words words = {"train",
                   "input/tiny.toml",
                   "run.directory=" + run_,
                   "data.synthetic=false",
                   "data.tokens=" + tokens_,
                   "data.validation=" + held_out_,
                   "run.evaluate_every=1000000",
                   "run.evaluate_samples=16",
                   "data.shuffle=true"};
    words.insert(words.end(), more.begin(), more.end());
    return on_ranks(2, words);
  }
  Process start(const Words& more = {}) {
    Words words = {"run.steps=1000000"};
    words.insert(words.end(), more.begin(), more.end());
    return Process(command(words), outputs_);
  }
  Result end_by_file(Process& process) const {
    std::ofstream(run_ + "/STOP") << "";
    const Result result = process.wait(60);
    fs::remove(run_ + "/STOP");
    return result;
  }
  int rows() const { return static_cast<int>(column(read_text(run_ + "/metrics.csv"), 0).size()); }
  std::int64_t newest() const {
    const auto all = store::list_checkpoints(run_ + "/checkpoints");
    return all.empty() ? -1 : *store::step_of_folder(fs::path(all.front()).filename());
  }
  void expect_not_saved(const Result& result) const {
    EXPECT_EQ(result.status, 2) << result.out << result.err;
    EXPECT_EQ(occurrences(result.err, tokens_ + ".bin was overwritten during the run"), 1) << result.err;
    EXPECT_TRUE(read_text(run_ + "/status").starts_with("2 data.tokens = ")) << read_text(run_ + "/status");
  }

  const Folder folder_, outputs_;
  const std::string run_ = folder_ / "run", tokens_ = folder_ / "tokens", held_out_ = folder_ / "held_out";
};

TEST_F(ChangedTokens, OverwrittenInPlaceAreNotWhatACheckpointTells) {
  Process process = start({"checkpoint.every=10"});
  ASSERT_TRUE(reaches(run_, 12));
  const std::string former = read_text(tokens_ + ".bin");
  overwrite(tokens_ + ".bin", former.substr(0, 40000) + std::string(former.size() - 40000, '\0'));
  const int seen = rows();
  const Result ended = process.wait(60);
  expect_not_saved(ended);
  EXPECT_EQ(occurrences(ended.err, "tokens 16384 to 32767 are others than at the start"), 1) << ended.err;
  EXPECT_GE(newest(), 10);
  EXPECT_LE(newest(), seen) << "a save that began after the change";
  const Result refused = run(command({"run.steps=1000000"}));
  EXPECT_EQ(refused.status, 2);
  overwrite(tokens_ + ".bin", former);
  const Result again = run(command({"run.steps=" + std::to_string(newest() + 1)}));
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_NE(again.out.find("resumed from step"), std::string::npos) << again.out;
}

/// The end of a run saves too, and writes its weights. Of a file that became shorter, what is left tells.
TEST_F(ChangedTokens, OverwrittenAndShorterLeaveNothingAtTheEnd) {
  const std::string weights = folder_ / "weights.safetensors";
  Process process = start({"run.final_weights=" + weights});
  ASSERT_TRUE(reaches(run_, 2));
  overwrite(tokens_ + ".bin", std::string(length, '\0'));
  fs::resize_file(tokens_ + ".bin", length + 1000);
  const Result ended = end_by_file(process);
  expect_not_saved(ended);
  EXPECT_NE(ended.err.find("no checkpoint"), std::string::npos) << ended.err;
  EXPECT_EQ(newest(), -1);
  EXPECT_FALSE(fs::exists(weights));
}

TEST_F(ChangedTokens, TouchedOrCopiedAreTheSame) {
  Process process = start({"checkpoint.every=3"});
  ASSERT_TRUE(reaches(run_, 4));
  for (const char* ending : {".bin", ".idx"}) {
    fs::last_write_time(tokens_ + ending, fs::file_time_type::clock::now() - std::chrono::hours(1));
    fs::copy_file(held_out_ + ending, folder_ / "copy");
    fs::rename(folder_ / "copy", held_out_ + ending);
  }
  ASSERT_TRUE(reaches(run_, rows() + 8));
  const Result ended = end_by_file(process);
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  EXPECT_EQ(ended.out.find("warning"), std::string::npos) << ended.out;
  EXPECT_EQ(newest(), rows());
}

/// Replaced files are read no more: the run is right, and a start after it is told.
TEST_F(ChangedTokens, ReplacedFilesAreSaidOnceAndEndNothing) {
  Process process = start({"checkpoint.every=3"});
  ASSERT_TRUE(reaches(run_, 4));
  write_tokens(tokens_, 1, 11);
  write_tokens(held_out_, 1, 13);
  ASSERT_TRUE(reaches(run_, rows() + 12));
  const Result ended = end_by_file(process);
  EXPECT_EQ(ended.status, 0) << ended.err;
  for (const std::string& key : {"data.tokens = \"" + tokens_, "data.validation = \"" + held_out_})
    EXPECT_EQ(occurrences(ended.out, "warning: " + key + "\": other files have these names by now: hash of the tokens: "), 1)
        << ended.out;
  EXPECT_EQ(newest(), rows());
  EXPECT_EQ(run(command({"run.steps=1000000"})).status, 2) << "as the warning says";
}

/// The index is read at the start, held-out samples too.
TEST_F(ChangedTokens, AnIndexAndHeldOutTokensAreReadAtTheStart) {
  Process process = start({"checkpoint.every=3"});
  ASSERT_TRUE(reaches(run_, 4));
  write_tokens(folder_ / "cut", 2, 7);
  const std::string index = read_text(folder_ / "cut.idx");
  std::ofstream(tokens_ + ".idx", std::ios::binary) << index;  // in place
  overwrite(held_out_ + ".bin", std::string(2 * length, '\0'));
  ASSERT_TRUE(reaches(run_, rows() + 8));
  const Result ended = end_by_file(process);
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(occurrences(ended.out, "documents: 1 in the checkpoint, 2 now"), 1) << ended.out;
  EXPECT_EQ(occurrences(ended.out, "warning: data.validation = "), 1) << ended.out;
  EXPECT_EQ(newest(), rows());
}

}  // namespace
}  // namespace trireme::test
