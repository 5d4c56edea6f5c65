// A run goes on with the data that it began with, or not at all. Oracle: what the test did to the files, and the checksums and
// losses of runs whose data stayed.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "data/token_writer.h"
#include "run/data_record.h"
#include "validation/unit/support/folder_state.h"
#include "validation/unit/support/overrides.h"
#include "validation/unit/support/run_files.h"

namespace trireme::test {
namespace {

/// `documents` documents of `length` tokens, other ones for another `factor`.
void write_tokens(const std::string& prefix, int documents, int length, int factor) {
  for (const char* ending : {".bin", ".idx"}) fs::remove(prefix + ending);
  data::TokenWriter writer(prefix, 256);
  int k = 0;
  for (int d = 0; d < documents; ++d) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(length));
    for (std::int32_t& id : ids) {
      id = (k * factor + k * k) % 256;
      ++k;
    }
    writer.append(ids);
    writer.end_document();
  }
  writer.finish();
}

class TrainingData : public testing::Test {
 protected:
  TrainingData() {
    write_tokens(tokens_, 4, 500, 7);
    write_tokens(held_out_, 1, 3000, 3);
    EXPECT_EQ(train({"run.steps=2"}).status, 0);
    before_ = state_of(run_);
  }
  Result train(const Words& more) const {
    Words words = {"train",
                   "input/tiny.toml",
                   "run.directory=" + run_,
                   "data.synthetic=false",
                   "data.tokens=" + tokens_,
                   "data.validation=" + held_out_,
                   "run.evaluate_every=1"};
    return test::run(on_ranks(2, with_values(words, more)));
  }
  void expect_refused(const Words& more, const std::string& says) const {
    const Result result = train(more);
    EXPECT_EQ(result.status, 2) << result.out << result.err;
    for (const std::string& part : {says, std::string("run.directory="), std::string("--weights-only")})
      EXPECT_EQ(occurrences(result.err, part), 1) << part << " in\n" << result.err;
    EXPECT_EQ(state_of(run_), before_) << "the run was changed";
  }

  Folder folder_;
  const std::string run_ = folder_ / "run", tokens_ = folder_ / "tokens", held_out_ = folder_ / "held_out";
  std::map<std::string, std::string> before_;
};

TEST_F(TrainingData, ReplacedUnderTheSameNameIsRefused) {
  write_tokens(tokens_, 4, 500, 11);
  expect_refused({"run.steps=4"}, "hash of the tokens: ");
  expect_refused({"run.steps=2"}, "hash of the tokens: ");  // also where no step is left
}

TEST_F(TrainingData, OfAnotherNameIsRefusedWithBothSizes) {
  write_tokens(folder_ / "mine", 2, 700, 7);
  expect_refused({"run.steps=4", "data.tokens=" + folder_ / "mine"}, "tokens: 2000 in the checkpoint, 1400 now");
}

TEST_F(TrainingData, CutIntoOtherDocumentsIsRefused) {
  write_tokens(tokens_, 2, 1000, 7);
  expect_refused({"run.steps=4"}, "documents: 4 in the checkpoint, 2 now");
}

TEST_F(TrainingData, MovedToAnotherPlaceIsTheSame) {
  for (const char* ending : {".bin", ".idx"}) fs::rename(tokens_ + ending, folder_ / (std::string("moved") + ending));
  const Result result = train({"run.steps=3", "data.tokens=" + folder_ / "moved"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("changed since: data.tokens: "), std::string::npos) << result.out;
}

TEST_F(TrainingData, MayBeAnotherForTheWeightsAlone) {
  write_tokens(tokens_, 4, 500, 11);
  const Result result = train({"run.steps=3", "--weights-only"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("data.tokens names other data"), std::string::npos) << result.out;
  EXPECT_EQ(train({"run.steps=4"}).status, 0) << "the run has this data now";
}

TEST_F(TrainingData, HeldOutTokensMayChangeAndThatIsSaid) {
  write_tokens(held_out_, 1, 3000, 5);
  const Result result = train({"run.steps=3"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("data.validation names other data"), std::string::npos) << result.out;
}

TEST_F(TrainingData, CheckpointsThatDoNotTellTheirsAreStillRead) {
  const std::string path = run_ + "/checkpoints/step-00000002/manifest.json";
  auto manifest = nlohmann::ordered_json::parse(read_text(path));
  ASSERT_EQ(manifest["data"]["training"]["tokens"], 2000);
  manifest.erase("data");
  manifest.erase("checksum");
  const std::string text = manifest.dump();
  manifest["checksum"] = fmt::format("{:016x}", base::hash64(std::as_bytes(std::span(text))));
  std::ofstream(path) << manifest.dump(1) << "\n";
  const Result result = train({"run.steps=3"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("resumed from step 2"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("not compared: the training data"), std::string::npos) << result.out;
}

/// Of more tokens than are all looked at: the first, the last and one between them count all the same.
TEST(RecordOfTokens, SeesAllOverALargeFile) {
  const Folder folder;
  constexpr std::int64_t count = (1 << 24) + 5;
  const std::string prefix = folder / "large";
  data::TokenWriter writer(prefix, 256);
  writer.append(std::vector<std::int32_t>(count, 65));
  writer.end_document();
  writer.finish();
  const store::TokensRecord before = run::record_of(data::TokenFile(prefix, 256));
  EXPECT_EQ(before.tokens, count);
  EXPECT_EQ(run::record_of(data::TokenFile(prefix, 256)), before);
  for (const std::int64_t changed : {std::int64_t{0}, count / 2, count - 1}) {
    std::fstream file(prefix + ".bin", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(2 * changed);
    file.put(66);
    file.close();
    EXPECT_NE(run::record_of(data::TokenFile(prefix, 256)).contents, before.contents) << "token " << changed;
    file.open(prefix + ".bin", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(2 * changed);
    file.put(65);
  }
}

}  // namespace
}  // namespace trireme::test
