// The command check from outside: what it prints for the paper's models (oracle: the published formulas and Table 1 of arXiv
// 2104.04473), that it agrees with a run's own records, and that it refuses what train refuses.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "config/keys.h"
#include "validation/unit/support/process.h"

namespace trireme::test {
namespace {

using Json = nlohmann::json;

Result check(std::vector<std::string> words) {
  words.insert(words.begin(), {program().string(), "check"});
  return run(words);
}

Json check_json(std::vector<std::string> words) {
  words.push_back("--json");
  const Result result = check(words);
  EXPECT_EQ(result.status, 0) << result.err;
  return Json::parse(result.out);
}

/// A line of the paper's tables.
struct PaperModel {
  const char* file;
  double billions, h, a, l, t, p, ranks, B;  // as printed in the paper
  int b, v, m;
};

constexpr PaperModel table_1[] = {
    {"paper/1.7b", 1.7, 2304, 24, 24, 1, 1, 32, 512, 16, 1, 1},
    {"paper/3.6b", 3.6, 3072, 32, 30, 2, 1, 64, 512, 16, 1, 1},
    {"paper/7.5b", 7.5, 4096, 32, 36, 4, 1, 128, 512, 16, 1, 1},
    {"paper/18.4b", 18.4, 6144, 48, 40, 8, 1, 256, 1024, 8, 1, 4},
    {"paper/39.1b", 39.1, 8192, 64, 48, 8, 2, 512, 1536, 4, 1, 12},
    {"paper/76.1b", 76.1, 10240, 80, 60, 8, 4, 1024, 1792, 2, 3, 28},
    {"paper/145.6b", 145.6, 12288, 96, 80, 8, 8, 1536, 2304, 2, 2, 48},
    {"paper/310.1b", 310.1, 16384, 128, 96, 8, 16, 1920, 2160, 1, 2, 144},
    {"paper/529.6b", 529.6, 20480, 128, 105, 8, 35, 2520, 2520, 1, 3, 280},
    {"paper/1008b", 1008.0, 25600, 160, 128, 8, 64, 3072, 3072, 1, 1, 512},
    {"gpt3-175b", 174.6, 12288, 96, 96, 8, 12, 1536, 1536, 1, 1, 96},  // Table 2
};

class Paper : public testing::TestWithParam<PaperModel> {};

TEST_P(Paper, ParametersAndFlopsAreTheEquations) {
  const PaperModel& paper = GetParam();
  const Json json = check_json({fmt::format("input/{}.toml", paper.file), "--ranks", fmt::format("{}", paper.ranks)});
  const double h = paper.h, l = paper.l, s = 2048, V = 51200;
  const auto& model = json["configuration"]["model"];
  EXPECT_EQ((std::vector<double>{model["hidden"], model["heads"], model["layers"], model["sequence"], model["vocabulary"]}),
            (std::vector<double>{h, paper.a, l, s, V}));
  EXPECT_EQ((std::vector<double>{json["tensor_ranks"], json["pipeline_stages"], json["data_ranks"], json["microbatches"]}),
            (std::vector<double>{paper.t, paper.p, paper.ranks / paper.t / paper.p, static_cast<double>(paper.m)}));
  EXPECT_EQ(json["configuration"]["batch"]["micro"], paper.b);
  EXPECT_EQ(json["configuration"]["parallel"]["virtual"], paper.v);

  // Equation 2, and the final norm's 2h that it leaves out. In long double: 1e12 has to come out exactly.
  const long double equation_2 = 12.0L * l * h * h * (1 + 13.0L / (12.0L * h) + (V + s) / (12.0L * l * h));
  EXPECT_EQ(json["parameters"].get<std::int64_t>(), std::llround(equation_2) + static_cast<std::int64_t>(2 * h));
  EXPECT_EQ(std::round(json["parameters"].get<double>() / 1e8) / 10, paper.billions);
  // Equation 3 counts full recomputation; without it, 72 and 12. 1e-12: sums of a few doubles.
  const double equation_3 = 96 * paper.B * s * l * h * h * (1 + s / (6 * h) + V / (16 * l * h));
  const double without = 72 * paper.B * s * l * h * h * (1 + s / (6 * h) + V / (12 * l * h));
  EXPECT_NEAR(json["hardware_flops_per_step"].get<double>() / equation_3, 1, 1e-12);
  EXPECT_NEAR(json["model_flops_per_step"].get<double>() / without, 1, 1e-12);
  EXPECT_DOUBLE_EQ(json["bubble_fraction"], (paper.p - 1) / (paper.v * paper.m));  // section 2.2
  EXPECT_EQ(json["checkpoint_bytes"], 12 * json["parameters"].get<std::int64_t>());

  // The paper's cut: equally many layers in each chunk.
  ASSERT_EQ(std::ssize(json["stages"]), static_cast<std::ptrdiff_t>(paper.p));
  for (const Json& stage : json["stages"])
    EXPECT_EQ(stage["layers"], std::vector<int>(paper.v, static_cast<int>(l / paper.p) / paper.v));
}

INSTANTIATE_TEST_SUITE_P(Tables1And2, Paper, testing::ValuesIn(table_1));

TEST(Check, PrintsWhatTheRunThenRecords) {
  const std::vector<std::string> layout = {"input/tiny.toml", "parallel.tensor=2",    "parallel.pipeline=2",
                                           "run.steps=3",     "run.evaluate_every=2", "run.evaluate_samples=8"};
  std::vector<std::string> words = layout;
  words.insert(words.end(), {"--ranks", "4"});
  const Json json = check_json(words);
  const Folder folder;
  words = layout;
  words.insert(words.begin(), "train");
  words.push_back("run.directory=" + folder / "run");
  const Result trained = run(on_ranks(4, words));
  ASSERT_EQ(trained.status, 0) << trained.err;
  const Json summary = Json::parse(read_text(folder / "run/summary.json"));
  ASSERT_EQ(summary["ranks"].size(), 4u);
  for (const Json& rank : summary["ranks"]) {
    EXPECT_EQ(rank["arena_predicted_bytes"], rank["arena_peak_bytes"]);
    Json predicted = json["stages"][rank["pipeline"].get<std::size_t>()]["memory_bytes"];
    predicted.erase("communication");
    EXPECT_EQ(predicted, rank["arena_peak_bytes"]);
  }
  // The start block says the same of the model.
  const Result text = check({"input/tiny.toml", "parallel.tensor=2", "parallel.pipeline=2", "--ranks", "4"});
  const std::size_t begin = text.out.find("model: l = "), end = text.out.find("memory a rank");
  ASSERT_LT(begin, end);
  EXPECT_NE(trained.out.find(text.out.substr(begin, end - begin)), std::string::npos);
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool keeps_freed_memory = true;
#else
constexpr bool keeps_freed_memory = false;
#endif
#define TRIREME_COUNTS_MEMORY \
  if (keeps_freed_memory) GTEST_SKIP() << "AddressSanitizer keeps freed memory, and more beside it"

TEST(Check, ResidentMemoryGrowsByWhatWasPredicted) {
  TRIREME_COUNTS_MEMORY;
  const Folder folder;
  const Result trained =
      run(on_ranks(4, {"train", "input/tiny.toml", "model.hidden=256", "model.sequence=128", "parallel.tensor=2",
                       "parallel.pipeline=2", "run.steps=4", "run.directory=" + folder / "run"}));
  ASSERT_EQ(trained.status, 0) << trained.err;
  const Json summary = Json::parse(read_text(folder / "run/summary.json"));
  for (const Json& rank : summary["ranks"]) {
    double predicted = 0;
    for (const auto& bytes : rank["arena_predicted_bytes"]) predicted += bytes.get<double>();
    const Json& memory = rank["private_bytes"];
    const double before = memory["before_arenas"], first = memory["after_first_step"], last = memory["after_last_step"];
    // Oracle: the system's count of touched pages. 15 %: also the scratch of reductions and the MPI library's buffers.
    EXPECT_NEAR((memory["end"].get<double>() - before) / predicted, 1, 0.15) << rank;
    EXPECT_LE(last - first, 65536) << rank;  // a step allocates nothing; a few pages of the library's
  }
}

/// The shape of input/novels.toml, a rank of which takes 11 to 20 MiB: what saves and traces take for a moment would show.
void expect_memory_as_predicted(const std::vector<std::string>& overrides) {
  const Folder folder;
  std::vector<std::string> words = {
      "train",         "input/tiny.toml",   "model.layers=4",      "model.hidden=128", "model.sequence=128",
      "batch.micro=4", "parallel.tensor=2", "parallel.pipeline=2", "run.steps=6",      "run.directory=" + folder / "run"};
  words.insert(words.end(), overrides.begin(), overrides.end());
  const Result trained = run(on_ranks(4, words));
  ASSERT_EQ(trained.status, 0) << trained.err;
  const Json summary = Json::parse(read_text(folder / "run/summary.json"));
  for (const Json& rank : summary["ranks"]) {
    double predicted = 0;
    for (const auto& bytes : rank["arena_predicted_bytes"]) predicted += bytes.get<double>();
    const Json& memory = rank["private_bytes"];
    EXPECT_NEAR((memory["end"].get<double>() - memory["before_arenas"].get<double>()) / predicted, 1, 0.15) << rank;
  }
}

TEST(Check, ResidentMemoryIsWhatWasPredictedAfterSavesAndATraceToo) {
  TRIREME_COUNTS_MEMORY;
  expect_memory_as_predicted({"checkpoint.every=2", "trace.steps=3"});
}

TEST(Check, ResidentMemoryIsWhatWasPredictedAfterASaveFromTheLiveBuffers) {
  TRIREME_COUNTS_MEMORY;
  expect_memory_as_predicted({"checkpoint.every=0"});
}

TEST(Check, PrintsTheParametersAsAPlainIntegerOnALine) {
  const Result result = check({"input/tiny.toml", "--ranks", "4"});
  EXPECT_EQ(result.status, 0) << result.err;
  // l (12 h^2 + 13 h) + (V + s) h + 2 h with l = 8, h = 64, s = 32, V = 256
  EXPECT_NE(result.out.find("\nparameters 418432\n"), std::string::npos) << result.out;
}

TEST(Check, RefusesWhatTrainRefusesInTheSameWords) {
  const std::vector<std::vector<std::string>> mistakes = {{"model.layer=4", "batch.global=18"},
                                                          {"batch.global=18"},
                                                          {"parallel.tensor=3"},
                                                          {"parallel.stages=9,0", "parallel.pipeline=2"}};
  for (const auto& values : mistakes) {
    std::vector<std::string> words = {"input/tiny.toml"};
    words.insert(words.end(), values.begin(), values.end());
    std::vector<std::string> training = words;
    training.insert(training.begin(), "train");
    const Result trained = run(on_ranks(4, training));
    words.insert(words.end(), {"--ranks", "4"});
    const Result checked = check(words);
    EXPECT_EQ(checked.status, 2);
    EXPECT_EQ(trained.status, 2);
    EXPECT_EQ(checked.out, "");
    EXPECT_FALSE(checked.err.empty());
    EXPECT_EQ(checked.err, trained.err);
  }
}

TEST(Check, NeedsAPositiveNumberOfRanks) {
  for (const auto& ranks : std::vector<std::vector<std::string>>{{}, {"--ranks", "0"}, {"--ranks", "-4"}, {"--ranks", "four"}}) {
    std::vector<std::string> words = {"input/tiny.toml"};
    words.insert(words.end(), ranks.begin(), ranks.end());
    const Result result = check(words);
    EXPECT_EQ(result.status, 2) << result.out;
    EXPECT_NE(result.err.find("ranks"), std::string::npos) << result.err;
  }
}

TEST(Check, TakesValuesThatThisVersionCannotTrainWithAndNamesThem) {
  for (const config::Key& key : config::all_keys()) {
    const auto unbuilt = std::find_if(key.words.begin(), key.words.end(), [&](const std::string& word) {
      return std::find(key.built.begin(), key.built.end(), word) == key.built.end();
    });
    if (key.built.empty() || unbuilt == key.words.end()) continue;
    const std::string value = key.full_name() + "=" + *unbuilt;
    const Result result = check({"input/tiny.toml", value, "--ranks", "4"});
    EXPECT_EQ(result.status, 0) << value << result.err;
    EXPECT_NE(result.out.find(fmt::format("not in this version: {} = \"{}\"", key.full_name(), *unbuilt)), std::string::npos)
        << result.out;
    EXPECT_EQ(check_json({"input/tiny.toml", value, "--ranks", "4"})["keys_not_in_this_version"], Json{key.full_name()});
  }
}

TEST(Check, TakesStagesWithoutLayers) {
  for (const std::string stages : {"7,0,0", "0,0,7", "0,7,0"}) {
    const Result result =
        check({"input/tiny.toml", "model.layers=7", "parallel.pipeline=3", "parallel.stages=" + stages, "--ranks", "3"});
    EXPECT_EQ(result.status, 0) << stages << result.err;
    EXPECT_EQ(result.out.find("stage 1: no layers") != std::string::npos, stages != "0,7,0") << result.out;
  }
}

TEST(Check, SaysThatMemoryIsNoEstimateOfWhatTheFileAsksFor) {
  for (const std::string value : {"parallel.recompute=full", "parallel.sequence_parallel=true", "parallel.zero=1"}) {
    const Result result = check({"input/tiny.toml", value, "--ranks", "4"});
    EXPECT_NE(result.out.find("memory a rank, by stage; no estimate of what the file asks for"), std::string::npos) << result.out;
    EXPECT_EQ(check_json({"input/tiny.toml", value, "--ranks", "4"})["memory_is_of_this_configuration"], false) << value;
  }
  EXPECT_EQ(check({"input/tiny.toml", "--ranks", "4"}).out.find("no estimate"), std::string::npos);
  EXPECT_EQ(check_json({"input/tiny.toml", "--ranks", "4"})["memory_is_of_this_configuration"], true);
}

TEST(Check, SaysWhereAMissingFileWasLookedFor) {
  const Result relative = check({"none/such.toml", "--ranks", "1"});
  EXPECT_EQ(relative.status, 2);
  EXPECT_NE(relative.err.find("(it was looked for at " + fs::current_path().string() + "/none/such.toml)"), std::string::npos)
      << relative.err;
  EXPECT_EQ(check({"/none/such.toml", "--ranks", "1"}).err.find("looked for"), std::string::npos);
}

TEST(Check, CountsEpochsWhereTheTokenFileIsAndRemarksWhereItIsNot) {
  const Folder folder;
  std::ofstream(folder / "text") << std::string(3201, 'x');  // bytes, and one end of document: at least 100 samples of 32
  const Result prepared = run({program().string(), "prepare", folder / "text", "--output", folder / "tokens"});
  ASSERT_EQ(prepared.status, 0) << prepared.err;
  const auto words = [&](const std::string& prefix) {
    return std::vector<std::string>{
        "input/tiny.toml", "data.synthetic=false", "data.tokens=" + folder / prefix, "run.steps=50", "--ranks", "1"};
  };
  EXPECT_EQ(check_json(words("tokens"))["epochs_of_run"], 8.0);  // 50 steps of 16 samples, 100 samples in the file
  const Result missing = check(words("nothing"));
  EXPECT_EQ(missing.status, 0) << missing.err;
  EXPECT_NE(missing.out.find("remark: data.tokens"), std::string::npos) << missing.out;
  EXPECT_TRUE(check_json(words("nothing"))["epochs_of_run"].is_null());
  auto greedy = words("tokens");
  greedy.push_back("batch.global=128");
  EXPECT_EQ(check(greedy).status, 2);  // as train: a step would pass through the data more than once
}

TEST(Check, WritesJsonOfAPathThatIsNotUtf8) {
  const Folder folder;
  const std::string input = folder / "a\xff.toml";
  fs::copy("input/tiny.toml", input);
  const Json json = check_json({input, "run.directory=" + folder / "b\xc3", "--ranks", "1"});
  EXPECT_EQ(json["input"], folder / "a\uFFFD.toml");
  EXPECT_EQ(json["configuration"]["run"]["directory"], folder / "b\uFFFD");
}

}  // namespace
}  // namespace trireme::test
