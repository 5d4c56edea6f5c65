// Every whole-number key with huge values, and sizes that together pass what can be counted: refused by name or taken, in bounded
// time and memory. Oracle: exit statuses, the system's limits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "config/keys.h"
#include "validation/unit/support/process.h"

namespace trireme::test {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr const char* memory_limit = "";  // the sanitizer reserves terabytes
#else
constexpr const char* memory_limit = "ulimit -v 3000000; ";  // KiB; a quarter is the libraries'
#endif

/// `trireme check` of input/tiny.toml with evaluations, on one rank, in limited memory.
Result check(const Words& values, const std::string& ranks = "1") {
  std::string command = memory_limit + program().string() + " check input/tiny.toml run.evaluate_every=5 --ranks " + ranks;
  for (const std::string& value : values) command += " '" + value + "'";
  return run({"sh", "-c", command}, 60);
}

/// Fails unless it is good, or refused by a message that names `key`.
void expect_good_or_named(const Result& result, const std::string& key, const std::string& what) {
  EXPECT_TRUE(result.status == 0 || result.status == 2) << what << " ended with " << result.status << "\n" << result.err;
  EXPECT_TRUE(result.status == 0 || result.err.find(key) != std::string::npos) << what << "\n" << result.err;
  EXPECT_EQ(result.err.find("bad_alloc"), std::string::npos) << what;
  EXPECT_EQ(result.err.find("out of memory"), std::string::npos) << what;
}

bool holds_whole_numbers(const config::Key& key) {
  config::Config config;
  const config::Slot slot = key.slot(config);
  return std::holds_alternative<std::int64_t*>(slot) || std::holds_alternative<std::uint64_t*>(slot) ||
         std::holds_alternative<std::vector<std::int64_t>*>(slot);
}

TEST(HugeValues, OfEveryWholeNumberKeyAreTakenOrRefusedByName) {
  int keys = 0;
  for (const config::Key& key : config::all_keys()) {
    if (!holds_whole_numbers(key)) continue;
    ++keys;
    const double high = std::min(key.range.high, 9e18);  // the largest that a key takes by itself
    const std::string name = key.full_name(), value = name + "=" + fmt::format("{:.0f}", high);
    expect_good_or_named(check({value}), name, value);
  }
  EXPECT_GT(keys, 20);
}

TEST(HugeValues, ThatMakeTooManyMicrobatchesNameTheKeyAndWhatWouldDo) {
  for (const char* value : {"run.evaluate_samples=67108864", "run.evaluate_samples=2147483647", "batch.global=16777216"}) {
    const Result result = check({value});
    EXPECT_EQ(result.status, 2) << value << result.err;
    EXPECT_NE(result.err.find("microbatches for each pipeline"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("4194304"), std::string::npos) << result.err;
  }
  EXPECT_EQ(check({"run.evaluate_samples=67108864", "batch.micro=16"}).status, 0) << "67108864 / 16 is what can be planned";
  const Result pipelines = check({"parallel.pipeline=8", "batch.global=8388608"}, "8");
  EXPECT_EQ(pipelines.status, 2);
  EXPECT_NE(pipelines.err.find("at most 524288 can be planned"), std::string::npos) << pipelines.err;
}

TEST(HugeValues, OfAllSizesAtOnceAreRefused) {
  const Result result = check({"model.layers=4096", "model.hidden=16777216", "model.heads=16777216", "model.sequence=16777216",
                               "model.vocabulary=16777216", "batch.global=4194304"});
  EXPECT_EQ(result.status, 2) << result.out << result.err;
  EXPECT_NE(result.err.find("model.hidden"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("do not fit into 63 bits"), std::string::npos) << result.err;
}

TEST(HugeValues, OfLayersAndStagesArePlannedInTime) {
  EXPECT_EQ(check({"model.layers=4096"}).status, 0);
  const Result many = check({"model.layers=4096", "parallel.pipeline=32", "batch.global=32"}, "32");
  EXPECT_EQ(many.status, 0) << many.err;
}

/// The limit of a plan is one, whoever asks: `check` takes exactly the schedules that `schedule` shows. A cap on the processor's
/// seconds tells what is refused from what is tried, on a busy machine too.
TEST(HugeValues, OfAScheduleAreRefusedAtOnceWhereCheckRefusesThem) {
  const auto schedule = [](const Words& values) {
    std::string command = memory_limit + ("ulimit -t 2; " + program().string()) + " schedule";
    for (const std::string& value : values) command += " '" + value + "'";
    return run({"sh", "-c", command}, 60);
  };
  const std::vector<Words> refused = {
      {"parallel.pipeline=2", "batch.global=2097153"},
      {"parallel.pipeline=1", "batch.global=4194305"},
      {"parallel.pipeline=1", "batch.global=16777216"},
      {"parallel.pipeline=4097", "batch.global=1"},
      {"parallel.pipeline=1000000", "batch.global=2"},
      {"parallel.pipeline=2147483647", "batch.global=16777216"},
      {"parallel.schedule=interleaved", "parallel.pipeline=2147483647", "parallel.virtual=2147483647", "batch.global=1"}};
  for (const Words& values : refused) {
    const Result result = schedule(values);
    EXPECT_EQ(result.status, 2) << values.back() << result.err;
    EXPECT_NE(result.err.find("can be planned"), std::string::npos) << result.err;
  }
  EXPECT_EQ(check({"parallel.pipeline=2", "batch.global=2097153"}, "2").status, 2);
  EXPECT_EQ(check({"parallel.pipeline=2", "batch.global=2097152"}, "2").status, 0);
}

}  // namespace
}  // namespace trireme::test
