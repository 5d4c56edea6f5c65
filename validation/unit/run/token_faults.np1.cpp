// Tokens that turn out bad, or to be gone, while a run trains on them. Oracle: where the test put the fault, and what must be
// saved before it.
#include <gtest/gtest.h>

#include "data/sampler.h"
#include "data/token_file.h"
#include "validation/unit/support/run_files.h"

namespace trireme::test {
namespace {

constexpr std::int64_t vocabulary = 256, sequence = 32, batch = 16;  // of input/tiny.toml
constexpr std::int64_t unscanned = 300'000'000;                      // more tokens than a start looks at

/// PREFIX.bin of zeros, sparse, and PREFIX.idx of one document, written by hand.
void make_tokens(const std::string& prefix, std::int64_t tokens, data::IdType type) {
  std::ofstream(prefix + ".bin", std::ios::binary) << "";
  fs::resize_file(prefix + ".bin", static_cast<std::uintmax_t>(tokens * bytes_of(type)));
  std::string index(data::index_magic, sizeof data::index_magic);
  const auto put = [&](auto value) { index.append(reinterpret_cast<const char*>(&value), sizeof value); };
  put(data::index_version), put(static_cast<std::uint8_t>(type));
  put(std::uint64_t{1}), put(std::uint64_t{2});
  put(static_cast<std::int32_t>(tokens)), put(std::int64_t{0}), put(std::int64_t{0}), put(std::int64_t{1});
  std::ofstream(prefix + ".idx", std::ios::binary) << index;
}

template <class Id>
void set_token(const std::string& prefix, std::int64_t position, Id id) {
  std::fstream file(prefix + ".bin", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(position * static_cast<std::int64_t>(sizeof id));
  file.write(reinterpret_cast<const char*>(&id), sizeof id);
}

class TokenFaults : public testing::Test {
 protected:
  Words command(int ranks, const Words& more) const {
    Words words = {"train",
                   "input/tiny.toml",
                   "run.directory=" + run_,
                   "data.synthetic=false",
                   "data.shuffle=true",
                   "data.tokens=" + prefix_};
    words.insert(words.end(), more.begin(), more.end());
    return on_ranks(ranks, words);
  }
  Result train(int ranks, const Words& more) const { return test::run(command(ranks, more)); }

  /// One message with all of `says`; `status` too; the state after `step` steps is on disk and good.
  void expect(const Result& result, int status, int step, const Words& says) const {
    EXPECT_EQ(result.status, status) << result.out << result.err;
    const std::string told = read_text(run_ + "/status");
    EXPECT_TRUE(told.starts_with(std::to_string(status) + " ")) << told;
    for (const std::string& part : says) {
      EXPECT_EQ(occurrences(result.err, part), 1) << part << "\n" << result.err;
      EXPECT_NE(told.find(part), std::string::npos) << part << "\n" << told;
    }
    EXPECT_EQ(std::stoi(column(read_text(run_ + "/metrics.csv"), 0).back()), step);
    const Result verified = test::run({program(), "checkpoint", "verify", run_});
    EXPECT_EQ(verified.status, 0) << verified.err;
    EXPECT_NE(fs::read_symlink(run_ + "/checkpoints/latest").string().find("0" + std::to_string(step)), std::string::npos);
  }

  Folder folder_;
  const std::string run_ = folder_ / "run", prefix_ = folder_ / "tokens";
};

/// The first token of sample `sample` of the run's step `step`. Shuffled, it lies where a start does not look.
std::int64_t token_of(std::int64_t step, std::int64_t sample) {
  const data::Sampler sampler(data::samples_of(unscanned, sequence), batch, 1, true);
  return sampler.sample_at((step - 1) * batch + sample) * sequence;
}

TEST_F(TokenFaults, ABadIdThatNoScanSawEndsTheRunWith2AfterASave) {
  make_tokens(prefix_, unscanned, data::IdType::u16);
  const std::int64_t place = token_of(4, 0) + 20;
  set_token<std::uint16_t>(prefix_, place, 9999);
  const Result result = train(2, {"parallel.pipeline=2", "run.steps=8"});
  expect(result, 2, 3,
         {"tokens of step 4, rank 0 on ", prefix_ + ".bin: token " + std::to_string(place) + " is 9999", "; saved at step 3"});
  set_token<std::uint16_t>(prefix_, place, 7);  // mended: the run goes on
  const Result again = train(2, {"parallel.pipeline=2", "run.steps=8"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_NE(again.out.find("resumed from step 3"), std::string::npos) << again.out;
  EXPECT_EQ(column(read_text(run_ + "/metrics.csv"), 0), (Words{"1", "2", "3", "4", "5", "6", "7", "8"}));
}

TEST_F(TokenFaults, ANegativeIdOfTheSecondPipelineNamesItsRank) {
  make_tokens(prefix_, unscanned, data::IdType::i32);
  const std::int64_t place = token_of(2, batch - 1) + 1;  // the last sample is the last data rank's
  set_token<std::int32_t>(prefix_, place, -3);
  const Result result = train(2, {"run.steps=3"});
  expect(result, 2, 1, {"tokens of step 2, rank 1 on ", "token " + std::to_string(place) + " is -3", "; saved at step 1"});
}

TEST_F(TokenFaults, OneInTheFirstStepSavesNothing) {
  make_tokens(prefix_, unscanned, data::IdType::u16);
  const std::int64_t place = token_of(1, 0) + 20;
  set_token<std::uint16_t>(prefix_, place, vocabulary);
  const Result result = train(1, {"run.steps=3"});
  EXPECT_EQ(result.status, 2) << result.err;
  EXPECT_NE(result.err.find("token " + std::to_string(place) + " is 256"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("tokens of step 1, rank 0"), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(run_)) << "a start that is refused leaves nothing";
}

TEST_F(TokenFaults, OneAmongTheHeldOutSamplesEndsTheRunBeforeItsFirstStep) {
  make_tokens(prefix_, 100000, data::IdType::u16);
  const std::string held_out = folder_ / "held_out";
  make_tokens(held_out, unscanned, data::IdType::u16);
  const std::int64_t place = token_of(1, 5) + 3;
  set_token<std::uint16_t>(held_out, place, 300);
  const Result result =
      train(2, {"data.validation=" + held_out, "run.evaluate_every=2", "run.evaluate_samples=16", "run.steps=4"});
  EXPECT_EQ(result.status, 2) << result.err;
  EXPECT_EQ(occurrences(result.err, held_out + ".bin: token " + std::to_string(place) + " is 300"), 1) << result.err;
  EXPECT_FALSE(fs::exists(run_)) << "a start that is refused leaves nothing";
}

TEST_F(TokenFaults, AFileThatIsCutShortDuringTheRunEndsItWith1AfterASave) {
  make_tokens(prefix_, 10'000'000, data::IdType::u16);
  Process process(command(2, {"parallel.pipeline=2", "run.steps=15000"}), folder_);
  ASSERT_TRUE(reaches(run_, 3));
  fs::resize_file(prefix_ + ".bin", 1000);
  const Result result = process.wait(60);
  const int last = std::stoi(column(read_text(run_ + "/metrics.csv"), 0).back());
  expect(result, 1, last,
         {"tokens of step " + std::to_string(last + 1), prefix_ + ".bin: was cut short while it was in use",
          "it has 1000 bytes, and had 20000000", "; saved at step " + std::to_string(last)});
}

}  // namespace
}  // namespace trireme::test
