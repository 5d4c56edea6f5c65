// Properties of every key in the table, and of the resolved text. Oracle: the list of keys of the design; values that the test
// chooses and compares as text. All comparisons exact.
#include "config/keys.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "config/check.h"
#include "config/describe.h"
#include "config/reader.h"
#include "config/write.h"

namespace trireme::config {
namespace {

const std::map<std::string, std::string> designed = {
    {"model", "layers hidden heads sequence vocabulary dropout initial"},
    {"parallel", "tensor pipeline virtual schedule stages sequence_parallel scatter_gather recompute zero"},
    {"batch", "global micro ramp_start ramp_increment ramp_samples"},
    {"precision", "compute loss_scale initial_scale growth_interval hysteresis minimum_scale maximum_skips"},
    {"optimizer", "learning_rate min_learning_rate warmup_steps decay_steps weight_decay beta1 beta2 epsilon clip"},
    {"data", "tokens validation shuffle order synthetic"},
    {"run",
     "directory steps seed device communicator threads time_limit log_every evaluate_every evaluate_samples watchdog "
     "final_weights check_copies_every reproducible"},
    {"kernels", "gemm"},
    {"placement", "strict oversubscribe"},
    {"checkpoint", "every keep"},
    {"trace", "steps"}};

TEST(ConfigKeys, AreThoseOfTheDesign) {
  std::map<std::string, std::string> found;
  for (const auto& key : all_keys()) found[key.section] += (found[key.section].empty() ? "" : " ") + key.name;
  EXPECT_EQ(found, designed);
}

/// A legal value of `key` that differs from its default where this version has one: as TOML.
std::string other_value(const Key& key) {
  Config config;
  const Slot slot = key.slot(config);
  if (auto* boolean = std::get_if<bool*>(&slot)) return key.built.empty() ? (**boolean ? "false" : "true") : key.built.back();
  if (std::holds_alternative<std::string*>(slot)) {
    const auto& words = key.built.empty() ? key.words : key.built;
    return '"' + (words.empty() ? "x\\\"\\\\y" + key.suffix : words.back()) + '"';
  }
  if (std::holds_alternative<std::vector<std::int64_t>*>(slot)) return "[3, 5]";
  if (!key.built.empty()) return key.built.back();
  return std::holds_alternative<double*>(slot) ? "0.25" : "3";
}

std::string value_in(const Key& key, Config config) { return toml_text(key.slot(config)); }

TEST(ConfigKeys, EachCanBeSetInAFileAndOnTheCommandLine) {
  for (const auto& key : all_keys()) {
    const std::string name = key.full_name(), value = other_value(key);
    const Resolved file = read_config("f.toml", "[" + key.section + "]\n" + key.name + " = " + value + "\n", {}, Missing::allow);
    EXPECT_EQ(value_in(key, file.config), value) << name;
    EXPECT_EQ(file.origins.at(name), "f.toml:2") << name;

    Config given = file.config;
    const Resolved line = read_config("f.toml", "", {name + "=" + plain_text(key.slot(given))}, Missing::allow);
    EXPECT_EQ(line.config, file.config) << name;
    EXPECT_EQ(line.origins.at(name), "command line") << name;
  }
}

TEST(ConfigKeys, SettingOneChangesNoOther) {
  const Config defaults = read_config("f.toml", "", {}, Missing::allow).config;
  for (const auto& key : all_keys()) {
    const std::string text = "[" + key.section + "]\n" + key.name + " = " + other_value(key) + "\n";
    const Config changed = read_config("f.toml", text, {}, Missing::allow).config;
    for (const auto& other : all_keys()) {
      const Config& expected = other.full_name() == key.full_name() ? changed : defaults;
      EXPECT_EQ(value_in(other, changed), value_in(other, expected)) << text;
    }
  }
}

std::string complaint(const std::string& section, const std::string& line) {
  try {
    read_config("f.toml", "[" + section + "]\n" + line + "\n", {}, Missing::allow);
    return "accepted";
  } catch (const base::Error& error) {
    return error.what();
  }
}

bool is_list(const Key& key) {
  Config any;
  return std::holds_alternative<std::vector<std::int64_t>*>(key.slot(any));
}

TEST(ConfigKeys, EveryMessageNamesItsKeyAndLine) {
  for (const auto& key : all_keys()) {
    std::vector<std::string> bad = {"1979-05-27", "{}", "[[1]]"};
    if (std::isfinite(key.range.low) && key.words.empty()) bad.push_back(is_list(key) ? "[-1]" : "-1");
    for (const auto& word : key.words) {
      if (!key.built.empty() && std::find(key.built.begin(), key.built.end(), word) == key.built.end())
        bad.push_back('"' + word + '"');
    }
    if (!key.words.empty()) bad.push_back("\"none such\"");
    for (const auto& value : bad) {
      const std::string said = complaint(key.section, key.name + " = " + value);
      EXPECT_NE(said.find(key.full_name()), std::string::npos) << value << "\n" << said;
      EXPECT_EQ(said.find("f.toml:2: error: "), 0u) << value << "\n" << said;
      EXPECT_NE(said.find("\n1 error, nothing was run"), std::string::npos) << said;
    }
  }
}

/// What a value is to the kernels: its sign, and whether it is 0, below 1, 1, above, or infinite.
template <class Real>
int kind_of(Real x) {
  return std::isinf(x) ? 9 : x == 0 ? 0 : x < 1 ? 1 : x == 1 ? 2 : 3;
}

// Oracle: the same number as a float and as a double. One that is refused names its key, and stands beyond the range or changes
// its kind as a float.
TEST(ConfigKeys, RealValuesDoNotChangeTheirKindInFp32) {
  const std::vector<std::string> extremes = {"5e-324", "1e-320", "1e-50",      "1e-40",  "1.2e-38", "1e-12", "0.99999999999",
                                             "1",      "0.9999", "0.99999994", "3.4e38", "1e39",    "1e308", "-0.0",
                                             "-1e-50", "nan",    "inf",        "-inf",   "1e400",   "0",     "-1"};
  for (const auto& key : all_keys()) {
    Config any;
    if (!std::holds_alternative<double*>(key.slot(any))) continue;
    for (const std::string& text : extremes) {
      const std::string name = key.full_name(), line = name + "=" + text;
      try {
        Config config = read_config("f.toml", "", {line}, Missing::allow, Unbuilt::allow).config;
        const double value = *std::get<double*>(key.slot(config));
        EXPECT_EQ(value, std::strtod(text.c_str(), nullptr)) << line;
        EXPECT_FALSE(std::signbit(value)) << line;
        EXPECT_TRUE(std::isfinite(value)) << line;
        EXPECT_TRUE(key.duration || kind_of(static_cast<float>(value)) == kind_of(value)) << line;
        EXPECT_TRUE(name != "model.dropout" || value == 0 || value >= 0x1p-32) << line << " would drop nothing";
      } catch (const base::Error& error) {
        EXPECT_EQ(error.status(), base::Exit::bad_input);
        EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
        EXPECT_NE(text, "0.9999") << error.what();
      }
    }
  }
}

TEST(ConfigKeys, RefusedExtremesSayWhatTheyCountAs) {
  EXPECT_NE(complaint("optimizer", "beta2 = 0.99999999999").find("counts as 1 in fp32"), std::string::npos);
  EXPECT_NE(complaint("optimizer", "epsilon = 1e-50").find("nearest: 1.17549435e-38"), std::string::npos);
  EXPECT_NE(complaint("optimizer", "learning_rate = 1e39").find("counts as infinite in fp32"), std::string::npos);
  EXPECT_NE(complaint("model", "dropout = 1e-12").find("counts as 0"), std::string::npos);
  EXPECT_EQ(complaint("optimizer", "beta2 = 0.9999999"), "accepted");
}

/// The words of a text, without the line breaks and blanks between them.
std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

bool contains_words(const std::string& text, const std::string& part) {
  const auto all = words_of(text), wanted = words_of(part);
  return std::search(all.begin(), all.end(), wanted.begin(), wanted.end()) != all.end();
}

TEST(ConfigKeys, HelpListsEachWithItsMeaning) {
  const std::string help = keys_text();
  for (const auto& key : all_keys()) {
    EXPECT_NE(help.find("  " + key.name + " "), std::string::npos) << key.full_name();
    EXPECT_TRUE(contains_words(help, key.meaning)) << key.full_name();
  }
  EXPECT_NE(help.find("or \"2bw\"\n"), std::string::npos);
  EXPECT_NE(help.find("default 0; a whole number, 0 to 3\n"), std::string::npos);
  EXPECT_NE(help.find("This version has only \"1f1b\", \"gpipe\" or \"interleaved\".\n"), std::string::npos);
}

/// Whole sentences, each short enough for a line of a terminal.
TEST(ConfigKeys, MeaningsAreSentences) {
  for (const auto& key : all_keys()) {
    ASSERT_FALSE(key.meaning.empty()) << key.full_name();
    EXPECT_TRUE(std::isupper(static_cast<unsigned char>(key.meaning.front()))) << key.meaning;
    EXPECT_TRUE(key.meaning.ends_with('.')) << key.meaning;
  }
  std::istringstream lines(keys_text());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 132u) << line;
}

TEST(ConfigKeys, MarkdownHasATableForEachSectionAndARowForEachKey) {
  std::map<std::string, std::string> found;
  std::string section;
  std::istringstream lines(keys_markdown());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## [")) section = line.substr(4, line.find(']') - 4);
    if (!line.starts_with("| `")) continue;
    EXPECT_EQ(std::count(line.begin(), line.end(), '|'), 5) << line;
    found[section] += (found[section].empty() ? "" : " ") + line.substr(3, line.find('`', 3) - 3);
  }
  EXPECT_EQ(found, designed);
}

TEST(ConfigWrite, TextIsAnInputThatGivesTheSameConfiguration) {
  std::vector<std::string> overrides = {"data.synthetic=false"};
  for (const auto& key : all_keys()) {
    if (key.name != "synthetic") overrides.push_back(key.full_name() + "=" + other_value(key));
  }
  overrides.push_back("run.directory=a \"b\" \\ \t c");
  overrides.push_back("optimizer.epsilon=1e-08");
  overrides.push_back("optimizer.learning_rate=0.1");
  overrides.push_back("run.seed=9223372036854775807");
  const Resolved first = read_config("first.toml", "", overrides);
  const std::string text = write_config(first);
  EXPECT_EQ(read_config("second.toml", text, {}).config, first.config) << text;
}

TEST(ConfigWrite, SaysWhereEachValueComesFrom) {
  const std::string text = write_config(read_config("f.toml", "[model]\nlayers = 8\n", {"model.heads=4"}, Missing::allow));
  const auto has_line = [&](const std::string& start, const std::string& end) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(start) && line.ends_with(end)) return true;
    }
    return false;
  };
  EXPECT_TRUE(has_line("layers = 8 ", " # f.toml:2"));
  EXPECT_TRUE(has_line("heads = 4 ", " # command line"));
  EXPECT_TRUE(has_line("micro = 1 ", " # default"));
}

// The inputs of the project, read from the repository's root, where the tests run.
TEST(ConfigInputs, AreGoodOnFourRanks) {
  for (const std::string name : {"input/tiny.toml", "input/novels.toml"}) {
    const Resolved read = read_config(name, base::read_file(name), {});
    EXPECT_NO_THROW(check_layout(read, 4)) << name;
    EXPECT_EQ(read_config(name, write_config(read), {}).config, read.config);
  }
}

TEST(ConfigInputs, TinyIsTheModelOfTheDesign) {
  const Config c = read_config("input/tiny.toml", base::read_file("input/tiny.toml"), {}).config;
  EXPECT_EQ(c.model, (Model{.layers = 8, .hidden = 64, .heads = 4, .sequence = 32, .vocabulary = 256, .initial = ""}));
  EXPECT_EQ(c.batch, (Batch{.global = 16, .micro = 1}));
  EXPECT_EQ(c.parallel, Parallel{});
  EXPECT_TRUE(c.data.synthetic);
  EXPECT_EQ(c.run.steps, 20);
}

}  // namespace
}  // namespace trireme::config
