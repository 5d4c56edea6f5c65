// The layout never changes the mathematics: 20 steps of input/tiny.toml on every layout of 1, 2, 4 and 8 ranks. The oracle of
// every layout is the serial run, which reference.np1 holds against an independent implementation.
#include "validation/unit/support/layouts.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "base/file.h"
#include "config/reader.h"
#include "validation/unit/support/run_files.h"

namespace trireme::test {
namespace {

struct Outcome {
  std::vector<double> losses, norms;
  std::vector<std::string> validation;
  std::string weights;  // bytes of run.final_weights
};

std::vector<double> numbers(const std::vector<std::string>& cells) {
  std::vector<double> values;
  for (const std::string& cell : cells) values.push_back(std::stod(cell));
  return values;
}

Outcome train(const Layout& layout, const std::vector<std::string>& more) {
  const Folder folder;
  std::vector<std::string> words = {"train", "input/tiny.toml", "run.directory=" + folder / "run",
                                    "run.final_weights=" + folder / "final.safetensors"};
  for (const std::string& value : layout.overrides()) words.push_back(value);
  words.insert(words.end(), more.begin(), more.end());
  const Result result = run(on_ranks(layout.tensor * layout.pipeline * layout.data, words));
  EXPECT_EQ(result.status, 0) << layout.name() << result.err;
  const std::string metrics = read_text(folder / "run/metrics.csv");
  return {numbers(column(metrics, 3)), numbers(column(metrics, 5)), column(metrics, 4), read_text(folder / "final.safetensors")};
}

/// 1e-5: float32 sums in another order, after 20 steps (measured: below 1e-7).
void expect_serial(const Outcome& ours, const Outcome& serial, const std::string& name) {
  ASSERT_EQ(ours.losses.size(), serial.losses.size()) << name;
  for (std::size_t k = 0; k < serial.losses.size(); ++k)
    EXPECT_LE(std::abs(ours.losses[k] / serial.losses[k] - 1), 1e-5) << name << " step " << k + 1;
}

const Layout serial_layout{1, 1, 1, "1f1b"};

TEST(Layouts, GiveTheSerialLossesAndPipelinesTheSameBits) {
  const auto config = config::read_config("input/tiny.toml", base::read_file("input/tiny.toml"), {}).config;
  const Outcome serial = train(serial_layout, {});
  ASSERT_EQ(serial.losses.size(), 20u);
  ASSERT_FALSE(serial.weights.empty());
  std::map<std::pair<int, int>, Outcome> first_of;  // by (t, d): only p and the schedule differ within
  for (const int ranks : {1, 2, 4, 8})
    for (const Layout& layout : layouts(config, ranks)) {
      const Outcome ours = train(layout, {});
      expect_serial(ours, serial, layout.name());
      const auto [place, inserted] = first_of.try_emplace({layout.tensor, layout.data}, ours);
      if (inserted) continue;
      EXPECT_TRUE(ours.weights == place->second.weights) << layout.name() << ": other weights than with another p";
      EXPECT_EQ(ours.norms, place->second.norms) << layout.name();
    }
}

TEST(Layouts, ShareDropoutMasks) {
  const std::vector<std::string> more = {"model.dropout=0.2", "run.steps=5"};
  const Outcome serial = train(serial_layout, more);
  EXPECT_NE(serial.losses, train(serial_layout, {"run.steps=5"}).losses);
  for (const Layout& layout :
       {Layout{2, 2, 2, "1f1b"}, Layout{4, 1, 1, "1f1b"}, Layout{1, 4, 1, "gpipe"}, Layout{1, 1, 4, "1f1b"}})
    expect_serial(train(layout, more), serial, layout.name());
}

TEST(Layouts, UnevenStagesAndMicrobatchSizesAreTheSameMathematics) {
  const Outcome serial = train(serial_layout, {});
  const Outcome uneven = train({1, 3, 1, "1f1b"}, {"parallel.stages=5,3,0"});
  EXPECT_TRUE(uneven.weights == serial.weights);
  expect_serial(train({1, 2, 2, "1f1b"}, {"batch.micro=4"}), serial, "b = 4");
}

TEST(Layouts, InterleavedWithALongLastGroupAndUnevenChunks) {
  const std::vector<std::string> ten = {"batch.global=10", "run.evaluate_every=10", "run.evaluate_samples=6"};
  const Outcome serial = train(serial_layout, ten);
  std::vector<std::string> uneven = ten;
  uneven.push_back("parallel.stages=1,2,0,1,2,2");
  for (const Outcome& ours : {train({1, 4, 1, "interleaved", 2}, ten), train({1, 3, 1, "interleaved", 2}, uneven)}) {
    EXPECT_TRUE(ours.weights == serial.weights);
    EXPECT_EQ(ours.validation, serial.validation);
  }
}

}  // namespace
}  // namespace trireme::test
