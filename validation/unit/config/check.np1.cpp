// What keys must be to each other and to the number of ranks. Oracle: messages and nearest values worked out by hand; exact.
#include "config/check.h"

#include <limits>

#include <gtest/gtest.h>

#include "base/error.h"
#include "validation/unit/support/words.h"

namespace trireme::config {
namespace {

using test::Words;

/// 12 layers, h = 48, a = 12, B = 24, b = 2: divisible by many things.
Resolved read(const Words& overrides) {
  const std::string text =
      "[model]\nlayers = 12\nhidden = 48\nheads = 12\nsequence = 8\nvocabulary = 10\n"
      "[batch]\nglobal = 24\nmicro = 2\n[optimizer]\nlearning_rate = 1e-3\n[data]\nsynthetic = true\n[run]\nsteps = 5\n";
  return read_config("in.toml", text, overrides);
}

std::string complaint(const Words& overrides, int ranks) {
  try {
    check_layout(read(overrides), ranks);
    return "";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), base::Exit::bad_input);
    return error.what();
  }
}

struct Good {
  Words overrides;
  int ranks;
};

TEST(ConfigCheck, AcceptsWhatDivides) {
  const std::vector<Good> good = {
      {{}, 1},
      {{}, 12},
      {{"parallel.tensor=4", "parallel.pipeline=3"}, 24},
      {{"parallel.pipeline=5"}, 5},  // 12 layers on 5 stages: uneven
      {{"parallel.pipeline=12", "parallel.schedule=gpipe"}, 12},
      {{"parallel.pipeline=3", "parallel.stages=0,12,0"}, 3},  // empty stages, but on purpose
      {{"parallel.tensor=3", "model.vocabulary=1"}, 3},        // padding
      {{"optimizer.warmup_steps=5", "optimizer.decay_steps=6", "optimizer.min_learning_rate=1e-3"}, 1},
      {{"optimizer.warmup_steps=5"}, 1},
      {{"optimizer.min_learning_rate=1e-4", "optimizer.decay_steps=0"}, 1},
      {{"run.evaluate_every=2"}, 1},
      {{"data.validation=v", "run.evaluate_every=0"}, 1},
      {{"trace.steps=5, 1-2,4 - 4"}, 1},
  };
  for (const auto& [overrides, ranks] : good) EXPECT_EQ(complaint(overrides, ranks), "");
}

struct Bad {
  Words overrides;
  int ranks;
  Words fragments;
};

const std::vector<Bad> bad_layouts = {
    {{}, 0, {"0 ranks"}},
    {{"parallel.tensor=2"}, 1, {"1 rank cannot be split", "a start without mpiexec or srun has 1 rank: was it forgotten?"}},
    {{"parallel.pipeline=3", "parallel.stages=12,0"}, 3, {"has 2 numbers", "need 3", "1 error,"}},
    {{"parallel.pipeline=2", "parallel.stages=2147483647,2147483647"}, 2, {"sum to 4294967294", "too many: 4294967282"}},
    {{"trace.steps=3-2"}, 1, {"trace.steps = \"3-2\" (command line): '3-2' runs backwards: write 2-3", "1 error,"}},
    {{"trace.steps=0"}, 1, {"'0': steps are counted from 1"}},
    {{"trace.steps=1,,2"}, 1, {"'' is no step and no range of steps"}},
    {{"trace.steps=1-2-3"}, 1, {"'1-2-3' is no step and no range of steps"}},
    {{"trace.steps=last"}, 1, {"'last' is no step and no range of steps: expected \"a-b\" or \"a,b,c\""}},
    {{"trace.steps=4-6"}, 1, {"trace.steps = \"4-6\" (command line): step 6 is beyond run.steps = 5 (in.toml:15)"}},
    {{"model.heads=5"},
     1,
     {"command line: error: model.heads = 5 (command line) does not divide model.hidden = 48 (in.toml:3)",
      "nearest model.heads: 4 or 6; nearest model.hidden: 45 or 50", "1 error, nothing was run"}},
    {{"parallel.tensor=5"},
     60,
     {"parallel.tensor = 5 (command line) does not divide model.heads = 12 (in.toml:4)", "nearest parallel.tensor: 4 or 6\n"}},
    {{"parallel.tensor=5"},
     4,
     {"nearest parallel.tensor: 4\n", "4 ranks cannot be split", "2 errors,"}},  // 6 would not split 4 ranks
    {{"parallel.tensor=2", "parallel.pipeline=4"},
     12,
     {"12 ranks cannot be split into groups of parallel.tensor = 2 (command line) x parallel.pipeline = 4 (command line) = 8",
      "nearest number of ranks: 8 or 16; nearest parallel.pipeline: 3 or 6", "1 error,"}},
    {{"parallel.pipeline=4"}, 2, {"nearest number of ranks: 4; nearest parallel.pipeline: 2\n", "1 error,"}},  // never clamped
    {{"parallel.tensor=12", "parallel.pipeline=2147483647"}, 12, {"12 ranks cannot be split", "2147483647 stages", "2 errors,"}},
    {{"batch.global=30"},
     4,
     {"batch.global = 30 (command line) is not a whole number of microbatches",
      "batch.global = batch.micro x m x d, 30 = 2 x m x 4", "batch.micro = 2 (in.toml:9)",
      "d = ranks / (tensor x pipeline) = 4 / (1 x 1) = 4", "nearest batch.global: 24 or 32", "1 error,"}},
    {{"batch.micro=5"}, 4, {"24 = 5 x m x 4", "nearest batch.global: 20 or 40; nearest batch.micro: 3 or 6"}},
    {{}, 24, {"24 = 2 x m x 24", "nearest batch.global: 48; nearest batch.micro: 1"}},
    {{"parallel.tensor=2"}, 10, {"24 = 2 x m x 5", "nearest number of ranks: 8 or 12; nearest batch.global: 20 or 30"}},
    {{"batch.micro=1"}, 9, {"nearest number of ranks: 8 or 12; "}},
    {{"batch.micro=16777216"}, 2147483647, {"nearest batch.global: 36028797002186752\n"}},  // no overflow, no endless search
    {{"parallel.pipeline=13"},
     13,
     {"12 layers cannot fill 13 stages", "model.layers = 12 (in.toml:2)", "parallel.pipeline = 13 (command line)",
      "parallel.pipeline is at most 12, and with 13 ranks and parallel.tensor = 1 (default) it may be 1\n", "1 error,"}},
    {{"parallel.pipeline=24"},
     24,
     {"is at most 12, and with 24 ranks and parallel.tensor = 1 (default) it may be 3, 4, 6, 8 or 12\n"}},
    {{"parallel.pipeline=6", "parallel.tensor=2", "parallel.virtual=3", "parallel.schedule=interleaved"},
     12,
     {"12 layers cannot fill 18 stages", "parallel.pipeline is at most 4, and with 12 ranks", "it may be 1, 2 or 3\n"}},
    {{"model.layers=1", "parallel.pipeline=2"},
     2,
     {"1 layer cannot fill 2 stages", "parallel.pipeline is at most 1, and with 2 ranks"}},
    {{"parallel.pipeline=2", "parallel.stages=4,4,4"},
     2,
     {"parallel.stages = [4, 4, 4] (command line) has 3 numbers", "parallel.pipeline = 2 (command line)", "need 2", "1 error,"}},
    {{"parallel.pipeline=2", "parallel.stages=4,4"},
     2,
     {"sum to 8, not to model.layers = 12 (in.toml:2); missing: 4", "1 error,"}},
    {{"parallel.stages=6,7"}, 1, {"has 2 numbers", "sum to 13", "too many: 1", "2 errors,"}},
    {{"optimizer.min_learning_rate=2e-3", "optimizer.decay_steps=4"},
     1,
     {"optimizer.min_learning_rate = 0.002 (command line) is above optimizer.learning_rate = 0.001 (in.toml:11); at most 0.001"}},
    {{"optimizer.warmup_steps=4", "optimizer.decay_steps=4"},
     1,
     {"optimizer.decay_steps = 4 (command line) is not after optimizer.warmup_steps = 4 (command line)", "at least 5, or 0"}},
    {{"optimizer.min_learning_rate=1e-4"},
     1,
     {"optimizer.min_learning_rate = 0.0001 (command line) is never used without "
      "optimizer.decay_steps"}},
    {{"data.validation=v"}, 1, {"data.validation = \"v\" (command line) is never used without run.evaluate_every"}},
    {{"data.synthetic=0", "data.tokens=x", "run.evaluate_every=2"},
     1,
     {"run.evaluate_every = 2 (command line) needs data.validation"}},
    {{"batch.global=16777216", "model.sequence=16777216", "run.steps=2e9"},
     1,
     {"run.steps = 2000000000 (command line)", "do not fit into 63 bits; nearest run.steps: 32767"}},
    {{"precision.compute=fp16", "precision.initial_scale=2", "precision.minimum_scale=4"},
     1,
     {"precision.initial_scale = 2", "precision.minimum_scale = 4", "at least 4"}},
    {{"precision.loss_scale=8"}, 1, {"precision.loss_scale = 8", "never used without precision.compute = \"fp16\""}},
    {{"precision.maximum_skips=8"}, 1, {"precision.maximum_skips = 8", "never used without precision.compute = \"fp16\""}},
    {{"model.heads=5", "parallel.tensor=2", "batch.micro=7", "parallel.stages=1"},
     2,
     {"model.heads = 5", "parallel.tensor = 2", "batch.micro = 7", "parallel.stages = [1]", "4 errors, nothing was run"}},
};

class ConfigCheckRefuses : public testing::TestWithParam<Bad> {};

TEST_P(ConfigCheckRefuses, NamingKeysValuesOriginsAndWhatWouldDo) {
  const auto& [overrides, ranks, fragments] = GetParam();
  const std::string said = complaint(overrides, ranks);
  for (const auto& fragment : fragments) EXPECT_NE(said.find(fragment), std::string::npos) << fragment << "\nnot in\n" << said;
}

INSTANTIATE_TEST_SUITE_P(Layouts, ConfigCheckRefuses, testing::ValuesIn(bad_layouts));

// Refused exactly when a division leaves a remainder or a stage stays empty, over all small layouts.
TEST(ConfigCheck, RefusesExactlyWhatDoesNotDivide) {
  for (int t = 1; t <= 4; ++t) {
    for (int p = 1; p <= 4; ++p) {
      for (int ranks = 1; ranks <= 24; ++ranks) {
        const bool good = 12 % t == 0 && ranks % (t * p) == 0 && 24 % (2 * (ranks / (t * p))) == 0;
        const Words layout = {"parallel.tensor=" + std::to_string(t), "parallel.pipeline=" + std::to_string(p)};
        EXPECT_EQ(complaint(layout, ranks).empty(), good) << "t=" << t << " p=" << p << " ranks=" << ranks;
      }
    }
  }
}

}  // namespace
}  // namespace trireme::config
