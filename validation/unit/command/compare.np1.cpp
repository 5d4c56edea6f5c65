// `trireme compare` as a user meets it: exit statuses, what is printed, what is written. The runs are made by hand from the
// reference of a case, so that what differs is known.
#include <algorithm>

#include <gtest/gtest.h>

#include "validation/unit/support/process.h"

namespace trireme::test {
namespace {

const std::string odd = "validation/cases/odd";

Result compare(std::vector<std::string> words) {
  words.insert(words.begin(), {program().string(), "compare"});
  return run(words);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

class CompareCommand : public testing::Test {
 protected:
  const Folder folder_;
  const std::string reference_ = read_text(odd + "/reference.csv");

  std::string run_of(const std::string& csv) {
    write_text_below(folder_ / "run/metrics.csv", csv);
    return folder_ / "run";
  }
};

TEST_F(CompareCommand, PassesOnTheReferenceItselfInEitherOrder) {
  const std::string run = run_of(reference_);
  for (const Result& result : {compare({odd, run}), compare({run, odd}), compare({odd + "/", run + "/"})}) {
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_TRUE(result.out.ends_with("4 checks, 3 passed, 0 failed, 1 skipped\n")) << result.out;
    EXPECT_TRUE(says(result, "skipped: reference_gradients.csv is no metric of a run")) << result.out;
    EXPECT_TRUE(says(result, "drift of the weights")) << "the reason is printed";
  }
}

TEST_F(CompareCommand, AWrongReferenceFailsAtItsStepWith3) {
  // Step 4's loss in its sixth digit: 1e-5 relative against a limit of 2e-6.
  std::string loss = reference_.substr(reference_.find("\n4,") + 3);
  loss = loss.substr(0, loss.find(','));
  std::string wrong = loss;
  wrong[6] = wrong[6] == '5' ? '9' : '5';
  fs::copy(odd, folder_ / "odd");
  write_text_below(folder_ / "odd/reference.csv", replaced(reference_, loss, wrong));
  const Result result = compare({folder_ / "odd", run_of(reference_), "--junit", folder_ / "out.xml"});
  EXPECT_EQ(result.status, 3) << result.out;
  EXPECT_TRUE(says(result, "FAIL at step 4 (first): outside the limit")) << result.out;
  EXPECT_TRUE(result.out.ends_with("4 checks, 2 passed, 1 failed, 1 skipped\n")) << result.out;
  EXPECT_NE(read_text(folder_ / "out.xml").find("failures=\"1\""), std::string::npos);
}

TEST_F(CompareCommand, MissingAndExtraRowsAndNaNFailWith3) {
  const std::string last = reference_.substr(reference_.rfind('\n', reference_.size() - 2) + 1);
  for (const std::string& csv : {replaced(reference_, last, ""), reference_ + "6,1,1,1\n",
                                 replaced(reference_, last, "5,nan,1,1\n"), replaced(reference_, "grad_norm", "norm")}) {
    const Result result = compare({odd, run_of(csv)});
    EXPECT_EQ(result.status, 3) << csv << result.out << result.err;
  }
}

TEST_F(CompareCommand, RunsAreEqualWithoutATolerance) {
  write_text_below(folder_ / "a/metrics.csv", "step,loss,validation_loss,seconds\n1,3,,0.1\n2,2,2.5,0.1\n");
  write_text_below(folder_ / "b/metrics.csv", "step,loss,validation_loss,seconds\n1,3,,0.2\n2,2,2.5,0.2\n");
  EXPECT_EQ(compare({folder_ / "a", folder_ / "b"}).status, 0);
  write_text_below(folder_ / "b/metrics.csv", "step,loss,validation_loss,seconds\n1,3,,0.2\n2,2,2.5000001,0.2\n");
  const Result other = compare({folder_ / "a", folder_ / "b"});
  EXPECT_EQ(other.status, 3);
  EXPECT_TRUE(says(other, "FAIL at step 2")) << other.out;
  write_text_below(folder_ / "limits.toml", "[validation_loss]\nabsolute = 1e-6\nreason = \"for this test\"\n");
  EXPECT_EQ(compare({folder_ / "a", folder_ / "b", "--tolerance", folder_ / "limits.toml"}).status, 0);
  write_text_below(folder_ / "limits.toml", "[los]\nabsolute = 1e-6\nreason = \"a quantity that nobody has\"\n");
  EXPECT_EQ(compare({folder_ / "a", folder_ / "b", "--tolerance", folder_ / "limits.toml"}).status, 3);
}

TEST_F(CompareCommand, BadInputIs2AndNamesFileAndLine) {
  const std::string run = run_of(reference_);
  fs::create_directory(folder_ / "empty");
  write_text_below(folder_ / "bad.csv", "step,loss\n1,2\n2,two\n");
  write_text_below(folder_ / "bad.toml", "[loss]\nrelative = 1\n");
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{odd}, "B is required"},
      {{odd, folder_ / "nowhere"}, "nowhere: no such file or folder"},
      {{odd, folder_ / "empty"}, "empty: holds neither"},
      {{odd, folder_ / "bad.csv"}, "bad.csv:3: 'two' is not a number"},
      {{odd, run, "--tolerance", folder_ / "none.toml"}, "none.toml"},
      {{odd, run, "--tolerance", folder_ / "bad.toml"}, "bad.toml:1: error: [loss] has no reason"},
      {{folder_ / "run/metrics.csv", folder_ / "run/metrics.csv", "--tolerance"}, "--tolerance"}};
  for (const auto& [words, message] : wrong) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--junit", folder_ / "out.xml"});
    const Result result = compare(words.back() == "--tolerance" ? words : all);
    EXPECT_EQ(result.status, 2) << message << result.out;
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_FALSE(fs::exists(folder_ / "out.xml"));
  }
}

TEST_F(CompareCommand, AnOutputThatIsAnInputIsRefused) {
  const std::string run = run_of(reference_), csv = folder_ / "run/metrics.csv", limits = folder_ / "limits.toml";
  write_text_below(limits, "[loss]\nrelative = 1\nreason = \"for this test\"\n");
  fs::copy(odd, folder_ / "odd");
  fs::create_symlink(csv, folder_ / "link.csv");
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{odd, csv}, csv},
      {{csv, odd}, csv},
      {{odd, run}, csv},
      {{odd, run}, folder_ / "run/../run/metrics.csv"},
      {{odd, run}, folder_ / "link.csv"},
      {{folder_ / "odd", run}, folder_ / "odd/reference.csv"},
      {{folder_ / "odd", run}, folder_ / "odd/tolerance.toml"},
      {{odd, run, "--tolerance", limits}, limits}};
  for (auto [words, junit] : cases) {
    const std::string before = read_text(junit);
    words.insert(words.end(), {"--junit", junit});
    const Result result = compare(words);
    EXPECT_EQ(result.status, 2) << junit;
    EXPECT_TRUE(says(result, "would replace the input")) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(read_text(junit), before) << junit;
  }
  EXPECT_EQ(compare({odd, run, "--junit", folder_ / "nowhere/out.xml"}).status, 2);
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.csv"));
}

TEST_F(CompareCommand, HelpIsShown) {
  const Result result = compare({"--help"});
  EXPECT_EQ(result.status, 0);
  EXPECT_TRUE(says(result, "--tolerance"));
}

}  // namespace
}  // namespace trireme::test
