// Commands that read for long tell meanwhile how far they are. Time passes faster for them (support/file_faults), so that a small
// checkpoint takes long. Oracle: the bytes of its values by the parameter table; at the usual pace nothing is told.
#include <gtest/gtest.h>

#include "base/units.h"
#include "validation/unit/support/file_faults.h"
#include "validation/unit/support/run_files.h"
#include "validation/unit/support/small_checkpoint.h"

namespace trireme::test {
namespace {

class TellsProgress : public testing::Test {
 protected:
  TellsProgress() {
    fs::create_directory(folder_ / "run");
    write_checkpoint(folder_ / "run/checkpoints", small_model(2), {2, 2, 1}, 7);
    std::ofstream(folder_ / "text.txt") << std::string(1 << 20, 'x');
  }

  /// Expects each of `whats` to come to its end, of as many bytes.
  void expect_told(const std::vector<std::string>& words, const std::vector<std::pair<std::string, std::int64_t>>& whats) const {
    std::vector<std::string> command = {program().string()};
    command.insert(command.end(), words.begin(), words.end());
    const Result slow = run(with_faults(command, {.calls = "", .under = "", .clock_rate = 10'000'000}), 60);
    EXPECT_EQ(slow.status, 0) << slow.err;
    for (const auto& [what, bytes] : whats) {
      const std::string all = base::bytes_text(static_cast<double>(bytes));
      EXPECT_NE(slow.err.find(what + ": " + all + " of " + all + ", "), std::string::npos) << all << "\n" << slow.err;
      EXPECT_GT(occurrences(slow.err, what + ": "), 5) << "it is told on the way too";
      EXPECT_EQ(occurrences(slow.err, what + ": "), occurrences(slow.err, " of " + all + ", ")) << slow.err;
    }
  }
  void expect_silent(const std::vector<std::string>& words) const {
    std::vector<std::string> command = {program().string()};
    command.insert(command.end(), words.begin(), words.end());
    const Result result = run(command, 60);
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.err, "");
  }

  const Folder folder_;
  const std::string run_ = folder_ / "run";
  const std::int64_t parameters_ = 4 * spec::parameter_count(small_model(2)), all_ = 3 * parameters_;
};

TEST_F(TellsProgress, OfACheckpoint) {
  const std::string weights = folder_ / "w.safetensors";
  expect_told({"checkpoint", "verify", run_}, {{"checkpoint verify", all_}});
  expect_told({"checkpoint", "export", run_, weights}, {{"checkpoint export, writing", parameters_}});
  expect_told({"checkpoint", "export", run_, weights}, {{"checkpoint export, verifying", all_}});
  expect_told({"checkpoint", "import", weights, folder_ / "step"}, {{"checkpoint import", parameters_}});
  expect_silent({"checkpoint", "verify", run_});
  expect_silent({"checkpoint", "export", run_, weights});
}

TEST_F(TellsProgress, OfAText) {
  expect_told({"prepare", folder_ / "text.txt", "--output", folder_ / "a"}, {{"prepare", 1 << 20}});
  expect_silent({"prepare", folder_ / "text.txt", "--output", folder_ / "b"});
}

}  // namespace
}  // namespace trireme::test
