// Reading input files and overrides. Oracle: values, origins and messages written down by hand; all comparisons exact.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/philox.h"
#include "config/keys.h"
#include "config/reader.h"
#include "validation/unit/support/words.h"

namespace trireme::config {
namespace {

using test::Words;

const std::string complete = R"([model]
layers = 8
hidden = 64
heads = 4
sequence = 32
vocabulary = 256
[batch]
global = 16
[optimizer]
learning_rate = 1e-3
[data]
synthetic = true
[run]
steps = 20
)";

/// What read_config says about its input; empty when it accepts it.
std::string complaint(const std::string& text, const Words& overrides = {}) {
  try {
    read_config("in.toml", text, overrides);
    return "";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), base::Exit::bad_input);
    return error.what();
  }
}

TEST(ConfigRead, FileValuesDefaultsAndOrigins) {
  const Resolved read = read_config("input/a.toml", complete, {});
  EXPECT_EQ(read.config.model.layers, 8);
  EXPECT_EQ(read.config.optimizer.learning_rate, 1e-3);
  EXPECT_TRUE(read.config.data.synthetic);
  EXPECT_EQ(read.config.batch.micro, 1);
  EXPECT_EQ(read.config.run.directory, "runs/a");
  EXPECT_EQ(read.origins.at("model.hidden"), "input/a.toml:3");
  EXPECT_EQ(read.origins.at("batch.micro"), "default");
  EXPECT_EQ(read.origins.size(), all_keys().size());
}

TEST(ConfigRead, OverridesAreReadByTheTypeOfTheKeyAndTheLastWins) {
  const Config c =
      read_config("in.toml", complete,
                  {"run.steps=7", "run.steps = 1_0e1", "run.device=cpu", "run.directory='a=b c'", "parallel.stages=1,2, 5",
                   "placement.strict=yes", "run.time_limit=1-12:00:00", "optimizer.beta1=0", "run.seed=9223372036854775807"},
                  Missing::refuse, Unbuilt::allow)
          .config;
  EXPECT_EQ(c.run.steps, 100);
  EXPECT_EQ(c.run.device, "cpu");
  EXPECT_EQ(c.run.directory, "a=b c");
  EXPECT_EQ(c.parallel.stages, (std::vector<std::int64_t>{1, 2, 5}));
  EXPECT_TRUE(c.placement.strict);
  EXPECT_EQ(c.run.time_limit, 129600);
  EXPECT_EQ(c.optimizer.beta1, 0);
  EXPECT_EQ(c.run.seed, 9223372036854775807u);
}

TEST(ConfigRead, FileForms) {
  const std::string text = complete + "time_limit = \"4h\"\nevaluate_samples = 1e2\nwatchdog = 90\n[parallel]\nstages = [3, 5]\n";
  const Config c = read_config("in.toml", text, {}, Missing::refuse, Unbuilt::allow).config;
  EXPECT_EQ(c.run.time_limit, 14400);
  EXPECT_EQ(c.run.evaluate_samples, 100);
  EXPECT_EQ(c.run.watchdog, 90);
  EXPECT_EQ(c.parallel.stages, (std::vector<std::int64_t>{3, 5}));
}

TEST(ConfigRead, OverridesReplaceWhatThisVersionCannotDo) {
  EXPECT_EQ(complaint(complete + "device = \"cuda\"\n", {"run.device=cpu"}), "");
  EXPECT_EQ(complaint(complete, {"data.synthetic=false", "data.tokens=a"}), "");
}

TEST(ConfigRead, CommandsThatNeedFewKeysCanLeaveOutTheRest) {
  EXPECT_EQ(read_config("", "", {"batch.global=16"}, Missing::allow).config.batch.global, 16);
}

// A wrong value, its place, its key, and what would do: the whole text, once.
TEST(ConfigRead, WholeMessage) {
  const std::string text = complete + "\tsteps_ = 3\n[parallel]\nzero = 1\nschedule = \"1b1f\"\n[train]\nseed = 1\n";
  EXPECT_EQ(complaint(text, {"batch.micro=0", "layers=2"}), R"(in.toml:15: error: unknown key 'run.steps_'
   15 | 	steps_ = 3
      | 	^~~~~~ did you mean 'run.steps'?
in.toml:17: error: parallel.zero = 1: ZeRO is not built yet; only 0 works in this version
   17 | zero = 1
      |        ^
in.toml:18: error: parallel.schedule = "1b1f" is not one of "1f1b", "gpipe", "interleaved", "zero-bubble" or "2bw"
   18 | schedule = "1b1f"
      |            ^~~~~~ did you mean "1f1b"?
in.toml:19: error: unknown section 'train'
   19 | [train]
      |  ^~~~~ did you mean 'run'?
command line: error: batch.micro = 0 is out of range: 1 to 16777216
      | batch.micro=0
      |             ^ nearest: 1
command line: error: unknown key 'layers'
      | layers=2
      | ^~~~~~ did you mean 'model.layers'?
6 errors, nothing was run)");
}

struct Bad {
  std::string text;
  Words overrides;
  Words fragments;
};

class ConfigRefuses : public testing::TestWithParam<Bad> {};

TEST_P(ConfigRefuses, NamingTheFault) {
  const auto& [text, overrides, fragments] = GetParam();
  const std::string said = complaint(text, overrides);
  for (const auto& fragment : fragments) EXPECT_NE(said.find(fragment), std::string::npos) << fragment << "\nnot in\n" << said;
}

std::string repeated(const std::string& part, int times) {
  std::string text;
  for (int k = 0; k < times; ++k) text += part;
  return text;
}

// Sizes in "1 error" show that nothing is reported twice or as a consequence.
const std::vector<Bad> bad_inputs = {
    {"",
     {},
     {"in.toml: error: missing keys: model.layers, model.hidden, model.heads, model.sequence, model.vocabulary, batch.global, "
      "optimizer.learning_rate, run.steps, data.tokens (or data.synthetic = true)",
      "1 error, nothing was run"}},
    {"model = 3\n" + complete.substr(complete.find("[batch]")),
     {},
     {"in.toml:1:", "'model' is a section", "write [model]", "1 error,"}},
    {"[[model]]\n",
     {"batch.global=1", "optimizer.learning_rate=1", "run.steps=1", "data.tokens=a"},
     {"'model' is a section", "1 error,"}},
    {"[modle]\n" + complete.substr(complete.find("layers")),
     {},
     {"in.toml:1:", "unknown section 'modle'", "'model'?", "1 error,"}},
    {complete + "['']\n", {}, {"in.toml:15:", "unknown section ''", "sections are model, parallel", "1 error,"}},
    {complete + "[empty_one]\n", {}, {"in.toml:15:", "unknown section 'empty_one'", "sections are model, parallel", "1 error,"}},
    {complete + "a.b = 1\n", {}, {"in.toml:15", "unknown key 'run.a'", "keys of [run] are directory", "1 error,"}},
    {complete + "every = 1\n", {}, {"unknown key 'run.every'", "did you mean 'checkpoint.every'?", "1 error,"}},
    {complete + "steps = 21\n", {}, {"in.toml:15:", "steps", "1 error,"}},                        // twice in one section
    {complete + "[model]\n", {}, {"in.toml:15:", "model", "1 error,"}},                           // a section twice
    {complete + "threads = \n", {"run.stepps=1"}, {"in.toml:15:", "'run.steps'?", "2 errors,"}},  // TOML syntax; overrides go on
    {complete + "[=]\n", {}, {"in.toml:15:", "1 error,"}},  // an assertion of the TOML library must not end the program
    {complete + "threads = 99999999999999999999\n", {}, {"in.toml:15:", "1 error,"}},
    {complete + "threads = 1.5\n", {}, {"'run.threads' must be a whole number, not a real number", "1 error,"}},
    {complete + "threads = \"1\"\n", {}, {"'run.threads' must be a whole number, not a string", "1 error,"}},
    {complete + "threads = true\n", {}, {"'run.threads' must be a whole number, not a boolean", "1 error,"}},
    {complete + "threads = nan\n", {}, {"'run.threads' must be a whole number", "1 error,"}},
    {complete + "threads = 1e300\n", {}, {"'run.threads' must be a whole number", "1 error,"}},
    {complete + "threads = -1\n", {}, {"run.threads = -1 is out of range: 0 to 4096", "nearest: 0", "1 error,"}},
    {complete + "device = 1\n", {}, {"'run.device' must be a string, not a whole number", "write it in quotes", "1 error,"}},
    {complete + "reproducible = 1\n", {}, {"'run.reproducible' must be true or false", "1 error,"}},
    {complete + "time_limit = \"4x\"\n", {}, {"run.time_limit: '4x' is not a time", "04:00:00", "1 error,"}},
    {complete + "time_limit = 04:00:00\n",
     {},
     {"'run.time_limit' must be a time such as \"4h\", not a date or a time", "write it in quotes", "1 error,"}},
    {complete + "time_limit = \"-1\"\n", {}, {"run.time_limit = -1 is out of range: 0 to 3155760000", "1 error,"}},
    {complete + "final_weights = \"a.h5\"\n", {}, {"run.final_weights = \"a.h5\" must name a .safetensors file", "1 error,"}},
    {complete + "[optimizer.x]\n", {}, {"unknown key 'optimizer.x'", "1 error,"}},
    {complete + "[parallel]\nstages = [1, 2.5]\n", {}, {"'parallel.stages' must be a list of whole numbers", "1 error,"}},
    {complete + "[parallel]\nstages = [1,\n-2]\n", {}, {"in.toml:16:", "parallel.stages = -2 is out of range", "1 error,"}},
    {complete + "[parallel]\nrecompute = 2\n", {}, {"parallel.recompute = \"2\": recomputation is not built yet", "1 error,"}},
    {complete + "[parallel]\nrecompute = 0\n", {}, {"parallel.recompute = 0 is out of range", "1 error,"}},
    {complete, {"parallel.recompute=2"}, {"parallel.recompute = \"2\": recomputation is not built yet", "1 error,"}},
    {complete, {"optimizer.clip=nan"}, {"command line:", "optimizer.clip: 'nan' is not a finite number", "1 error,"}},
    {complete, {"optimizer.clip=inf"}, {"optimizer.clip: 'inf' is not a finite number", "1 error,"}},
    {complete + "[checkpoint]\nkeep = inf\n", {}, {"'checkpoint.keep' must be a whole number", "1 error,"}},
    {complete + "[model.dropout]\n", {}, {"in.toml", "1 error,"}},
    {complete, {"model.dropout=1"}, {"model.dropout = 1 is out of range: 0 to 1, without 1", "1 error,"}},
    {complete, {"optimizer.epsilon=0"}, {"optimizer.epsilon = 0 is out of range: above 0", "1 error,"}},
    {complete, {"optimizer.clip=1e999"}, {"optimizer.clip: '1e999' does not fit into a double", "1 error,"}},
    {complete, {"placement.strict=maybe"}, {"placement.strict: 'maybe' is neither true nor false", "1 error,"}},
    {complete, {"run.steps=1.5"}, {"run.steps: '1.5' is not a whole number", "1 error,"}},
    {complete, {"run.steps="}, {"run.steps: '' is not a whole number", "1 error,"}},
    {complete, {"parallel.stages=1,,2"}, {"parallel.stages: '' is not a whole number", "1 error,"}},
    {complete, {"run.device=CUDA"}, {"run.device = \"CUDA\" is not one of \"auto\", \"cpu\" or \"cuda\"", "1 error,"}},
    {complete,
     {"run.device=cuda"},
     {"run.device = \"cuda\": this device is not built yet", "\"auto\" or \"cpu\" work", "1 error,"}},
    // a text without its quotes
    {complete + "[parallel]\nschedule = gpipe # as in the paper\n",
     {},
     {"in.toml:16:", "is it a text? Then it needs quotes: \"gpipe\"\n"}},
    {complete + "[parallel]\nschedule = 1f1b\n", {}, {"in.toml:16:", "it needs quotes: \"1f1b\"\n"}},
    {complete + "device = true-ish\n", {}, {"in.toml:15:", "it needs quotes: \"true-ish\"\n"}},
    {complete + "final_weights = /tmp/a.safetensors\n", {}, {"it needs quotes: \"/tmp/a.safetensors\"\n"}},
    {complete + "[trace]\nsteps = 10-12\n", {}, {"in.toml:16:", "it needs quotes: \"10-12\"\n"}},
    {complete + "[trace]\nsteps = 3\n", {}, {"'trace.steps' must be a string, not a whole number", "write it in quotes\n"}},
    {complete, {"modle.layres=2"}, {"unknown key 'modle.layres'", "'model.layers'?", "1 error,"}},
    {complete, {"train.steps=2"}, {"'run.steps' or 'trace.steps'?", "1 error,"}},
    {complete, {"--run.steps=2"}, {"unknown key '--run.steps'", "'run.steps'", "1 error,"}},
    {complete, {"steps", "steps"}, {"'steps' is not of the form section.key=value", "1 error,"}},  // none twice
    {complete, {"=", ""}, {"unknown key ''", "'' is not of the form", "2 errors,"}},
    {complete,
     {"data.tokens=a"},
     {"in.toml:12:", "data.synthetic = true excludes data.tokens = \"a\" (command line)", "1 error,"}},
    // what a shell would replace, in every key that names a path
    {complete, {"run.directory=~/x"}, {"run.directory = \"~/x\": ~ is not expanded here; write the path in full", "1 error,"}},
    {complete + "final_weights = \"$HOME/w.safetensors\"\n", {}, {"in.toml:15:", "run.final_weights", "$HOME is not expanded"}},
    {complete, {"model.initial=a/${W}/b"}, {"model.initial", "${W} is not expanded", "1 error,"}},
    {complete, {"data.validation=~user/v"}, {"data.validation", "~user is not expanded", "1 error,"}},
    {complete, {"data.tokens=/a$B", "data.synthetic=false"}, {"data.tokens", "$B is not expanded", "1 error,"}},
    {complete + "directory = \"a\\u0000b\"\n", {}, {"run.directory holds a zero byte", "1 error,"}},
    // quantities that follow from others
    {complete,
     {"parallel.data=2"},
     {"unknown key 'parallel.data'", "d = ranks / (parallel.tensor x parallel.pipeline)", "1 error,"}},
    {complete + "epochs = 3\n", {}, {"unknown key 'run.epochs'", "give run.steps", "1 error,"}},
    {complete, {"batch.gradient_accumulation_steps=4"}, {"m = batch.global / (batch.micro x d)", "1 error,"}},
    // bytes that must not reach the TOML library
    {"\xc3\xa4 = 1\n" + complete, {}, {"in.toml:1:", "only ASCII characters", "\n      | ^\n"}},
    {complete + "watchdog = \xe2\x80\x9c"
                "9\xe2\x80\x9d\n",
     {},
     {"in.toml:15:", "only ASCII characters", "|            ^\n"}},
    {complete + "a\xc2\xa0= 1 # \xc3\xa4\n", {}, {"in.toml:15:", "only ASCII characters", "\n      |  ^\n"}},
    {complete + "x = \"\"\"\n\xc3\xa4\n\"\"\"\n[\xff]\n", {}, {"in.toml:18:", "only ASCII characters"}},
    {complete + "x = " + std::string(60000, '[') + "\n", {}, {"in.toml:15:", "too many brackets within brackets", "1 error,"}},
    {complete + "x = " + std::string(60000, '{') + "\n", {}, {"too many brackets within brackets", "1 error,"}},
    {complete + repeated("a.", 60000) + "a = 1\n", {}, {"in.toml:15:", "a name of too many parts", "1 error,"}},
    {complete + "[" + repeated("a.", 60000) + "a]\n", {}, {"in.toml:15:", "a name of too many parts", "1 error,"}},
    {complete + "#" + std::string(1 << 20, ' '), {}, {"bytes are too many for an input file", "1 error,"}},
    // numbers written in ways that other programs read otherwise
    {complete, {"run.steps=0x10"}, {"run.steps: '0x10' is not a whole number; write digits", "1 error,"}},
    {complete, {"run.steps=1__0"}, {"run.steps: '1__0' is not a number", "1 error,"}},
    {complete, {"run.steps=1,000"}, {"run.steps: '1,000' is not a whole number", "1 error,"}},
    {complete, {"run.steps=4h"}, {"run.steps: '4h' is not a whole number", "1 error,"}},
    {complete, {"run.steps=1e400"}, {"does not fit into 64 bits", "1 error,"}},
    {complete + "threads = 010\n", {}, {"in.toml:15:", "1 error,"}},
    {complete, {"optimizer.clip=1,5"}, {"optimizer.clip: '1,5' is not a number", "1 error,"}},
    {complete, {"optimizer.clip=1e-3f"}, {"optimizer.clip: '1e-3f' is not a number", "1 error,"}},
    {complete, {"optimizer.clip=0x1p3"}, {"optimizer.clip: '0x1p3' is not a number", "1 error,"}},
    {complete, {"run.watchdog=1e300"}, {"run.watchdog = 1e+300 is out of range: 0 to 3155760000", "1 error,"}},
    {complete, {"run.time_limit=1:60"}, {"run.time_limit: '1:60' is not a time", "1 error,"}},
    {complete, {"run.time_limit=4H"}, {"run.time_limit: '4H' is not a time", "1 error,"}},
    {complete, {"data.synthetic=false"}, {"data.tokens is empty and data.synthetic is false", "1 error,"}},
};

INSTANTIATE_TEST_SUITE_P(Inputs, ConfigRefuses, testing::ValuesIn(bad_inputs));

TEST(ConfigRead, NumbersAreWhatTheySay) {
  const std::vector<std::pair<std::string, std::int64_t>> whole = {{"1_000", 1000}, {"1e3", 1000},   {"+5", 5},
                                                                   {"010", 10},     {"1.5e3", 1500}, {"10e-1", 1}};
  for (const auto& [text, value] : whole)
    EXPECT_EQ(read_config("in.toml", complete, {"run.steps=" + text}).config.run.steps, value) << text;
  const std::vector<std::pair<std::string, double>> times = {{"4h", 14400}, {"1:00", 60}, {"1:00:00", 3600}, {"1-0", 86400},
                                                             {"90", 90},    {"0.5m", 30}, {"1e2", 100},      {"1-12:00", 129600}};
  for (const auto& [text, value] : times)
    EXPECT_EQ(read_config("in.toml", complete, {"run.time_limit=" + text}).config.run.time_limit, value) << text;
  const std::string file =
      complete + "threads = 0x10\nevaluate_samples = 1e2\nlog_every = +1_0\n[parallel]\nstages = [3e0, 5.0]\n";
  const Config read = read_config("in.toml", file, {}).config;
  EXPECT_EQ(read.run.threads, 16);
  EXPECT_EQ(read.run.evaluate_samples, 100);
  EXPECT_EQ(read.run.log_every, 10);
  EXPECT_EQ(read.parallel.stages, (std::vector<std::int64_t>{3, 5}));
}

TEST(ConfigRead, StringsAndCommentsMayHoldAnyCharacter) {
  const std::string name = "d\xc3\xa4ta/~/x.y.z", text = "\xef\xbb\xbf" + complete + "# \xe2\x80\x9cquoted\xe2\x80\x9d [[[[\n";
  for (const std::string& quoted :
       {"\"" + name + "\"", "'" + name + "'", "\"\"\"\n" + name + "\"\"\"", std::string(3, '\'') + name + std::string(3, '\'')}) {
    const Config read = read_config("in.toml", text + "directory = " + quoted + " # \xc3\xa4\n", {}).config;
    EXPECT_EQ(read.run.directory, name) << quoted;
  }
}

TEST(ConfigRead, CaretCountsCharactersNotBytes) {
  const std::string said = complaint("model = {\"schl\u00fcssel\" = 1,\tlayers = \"x\"}\n");
  EXPECT_NE(said.find("      |          ^~~~~~~~~~~ keys of [model]"), std::string::npos) << said;
  EXPECT_NE(said.find("\n      |                          \t         ^~~\n"), std::string::npos) << said;
}

// Whatever the bytes, the answer is a configuration or a base::Error. Mutations of a good file, each a function of its number.
TEST(ConfigRead, DamagedFilesEndInAnErrorOrAConfiguration) {
  int refused = 0;
  for (std::uint64_t round = 0; round < 3000; ++round) {
    std::string text = complete;
    for (std::uint64_t change = 0; change < 1 + round % 4; ++change) {
      const auto random = base::philox(1, round, change);
      const std::size_t where = random[0] % text.size();
      if (random[1] % 3 == 0)
        text.resize(where + 1);
      else if (random[1] % 3 == 1)
        text[where] = static_cast<char>(random[2] % 256);
      else
        text.insert(where, text.substr(random[2] % text.size(), random[3] % 20));
    }
    try {
      read_config("in.toml", text, {});
    } catch (const base::Error& error) {
      ++refused;
      EXPECT_EQ(error.status(), base::Exit::bad_input);
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace trireme::config
