// Files that a user names for results, where something is there already. What the user made stays, every byte; an earlier result
// of the same kind is replaced. Oracle: the bytes on disk before and after.
#include <gtest/gtest.h>

#include "store/trace_file.h"
#include "validation/unit/support/run_files.h"
#include "validation/unit/support/small_checkpoint.h"
#include "validation/unit/support/small_trace.h"

namespace trireme::test {
namespace {

using Words = std::vector<std::string>;

/// A command up to the option or place of its result, and that result's name.
struct Writer {
  Words words;
  std::string file;
};

class NamedOutputs : public testing::Test {
 protected:
  NamedOutputs() {
    fs::create_directory(folder_ / "run");
    write_checkpoint(folder_ / "run/checkpoints", small_model(2), {1, 1, 1}, 7);
    std::ofstream(run_ + "/metrics.csv") << "step,loss,grad_norm\n1,2.5,1\n2,2.25,1\n";
    store::TraceWriter writer(trace_, by_hand());
    for (const store::RankTrace& rank : by_hand().ranks) writer.add(rank);
    writer.finish();
    writers_ = {{{"checkpoint", "export", run_}, "w.safetensors"},
                {{"trace", trace_, "--svg"}, "t.svg"},
                {{"trace", trace_, "--perfetto"}, "t.json"},
                {{"schedule", "parallel.pipeline=2", "batch.global=4", "--svg"}, "s.svg"},
                {{"compare", run_, run_, "--junit"}, "j.xml"}};
  }

  static Result call(Words words) {
    words.insert(words.begin(), program().string());
    return run(words, 60);
  }
  Result write(const Writer& writer, const std::string& file) const {
    Words words = writer.words;
    words.push_back(file);
    return call(words);
  }
  void expect_kept(const Result& result, const std::string& file, const std::string& content) const {
    EXPECT_EQ(result.status, 2) << result.out << result.err;
    EXPECT_EQ(result.err.rfind(file + ": ", 0), 0u) << result.err;
    EXPECT_EQ(occurrences(result.err, "\n"), 1) << result.err;
    EXPECT_EQ(read_text(file), content) << file;
  }

  const Folder folder_;
  const std::string run_ = folder_ / "run", trace_ = folder_ / "trace.h5";
  std::vector<Writer> writers_;
};

TEST_F(NamedOutputs, NeverReplaceAFileOfAnotherKind) {
  for (const Writer& writer : writers_)
    for (const std::string content :
         {"my notes\n", "{\"n_layer\": 2}\n", "<?xml version=\"1.0\"?><project/>\n", "\x89HDF\r\n\x1a\n and more"}) {
      const std::string file = folder_ / writer.file;
      SCOPED_TRACE(file);
      std::ofstream(file) << content;
      const Result result = write(writer, file);
      expect_kept(result, file, content);
      EXPECT_NE(result.err.find("It is not replaced"), std::string::npos) << result.err;
    }
}

TEST_F(NamedOutputs, HaveTheEndingOfTheirKind) {
  for (const Writer& writer : writers_) {
    const std::string file = folder_ / "thesis.tex";
    std::ofstream(file) << "my thesis";
    const Result result = write(writer, file);
    expect_kept(result, file, "my thesis");
    EXPECT_NE(result.err.find(fs::path(writer.file).extension().string()), std::string::npos) << result.err;
    fs::remove(file);
  }
  for (const char* name : {"model.bin", "model.pt", "model.h5"}) {  // these would become folders
    const Result result = write(writers_[0], folder_ / name);
    EXPECT_EQ(result.status, 2) << name;
    EXPECT_NE(result.err.find("only .safetensors can be written"), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(folder_ / name));
  }
}

TEST_F(NamedOutputs, ReplaceAnEmptyFileAndAnEarlierResult) {
  for (const Writer& writer : writers_) {
    const std::string file = folder_ / writer.file;
    std::ofstream(file, std::ios::trunc).close();
    EXPECT_EQ(write(writer, file).status, 0) << file;
    const std::string first = read_text(file);
    EXPECT_FALSE(first.empty()) << file;
    std::ofstream(file, std::ios::app) << (file.ends_with(".safetensors") ? "" : " ");
    const Result again = write(writer, file);
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_EQ(read_text(file), first);
    const std::string says = writer.words[0] == "checkpoint" ? file + ": step 7" : "wrote " + file + "\n";
    EXPECT_NE(again.out.find(says), std::string::npos) << again.out;
  }
}

TEST_F(NamedOutputs, OfARunAreLookedAtBeforeItBegins) {
  const std::string weights = folder_ / "final.safetensors", fresh = folder_ / "fresh";
  std::ofstream(weights) << "the only copy";
  const Result result =
      run(on_ranks(2, {"train", "input/tiny.toml", "run.directory=" + fresh, "run.final_weights=" + weights, "run.steps=1"}));
  EXPECT_EQ(result.status, 2) << result.err;
  EXPECT_NE(result.err.find("run.final_weights = \"" + weights + "\" (command line): "), std::string::npos) << result.err;
  EXPECT_EQ(read_text(weights), "the only copy");
  EXPECT_FALSE(fs::exists(fresh));
}

TEST_F(NamedOutputs, OfAPlotAreAllLookedAtBeforeOneIsWritten) {
  const std::string plots = folder_ / "plots";
  fs::create_directory(plots);
  std::ofstream(plots + "/gradient_norm.svg") << "my notes";
  ASSERT_EQ(call({"plot", run_, "--output", folder_ / "other"}).status, 0);
  ASSERT_TRUE(fs::exists(folder_ / "other/loss.svg"));
  ASSERT_TRUE(fs::exists(folder_ / "other/gradient_norm.svg"));
  expect_kept(call({"plot", run_, "--output", plots}), plots + "/gradient_norm.svg", "my notes");
  EXPECT_FALSE(fs::exists(plots + "/loss.svg"));
  EXPECT_EQ(call({"plot", run_, "--output", folder_ / "other"}).status, 0) << "its own are replaced";
}

}  // namespace
}  // namespace trireme::test
