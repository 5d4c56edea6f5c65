// What `trireme train` does with damaged checkpoints, full disks and changed inputs. Oracle: what the test broke or changed;
// files that must still be there.
#include <functional>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "run/records.h"
#include "store/checkpoint_folder.h"
#include "store/checkpoint_reader.h"
#include "validation/unit/support/run_files.h"

namespace trireme::test {
namespace {

class ResumeDamage : public testing::Test {
 protected:
  ResumeDamage() {
    EXPECT_EQ(train({"run.steps=4", "checkpoint.every=2"}).status, 0);
    EXPECT_EQ(steps_there(), (std::vector<std::string>{"step-00000002", "step-00000004"}));
  }
  Words command(const Words& more) const {
    Words words = {"train", "input/tiny.toml", "run.directory=" + run_, "parallel.pipeline=2"};
    words.insert(words.end(), more.begin(), more.end());
    return on_ranks(4, words);
  }
  Result train(const Words& more) const { return test::run(command(more)); }

  std::vector<std::string> steps_there() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(checkpoints_))
      if (entry.path().filename() != "latest") names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string file(int step, const std::string& name) const {
    return checkpoints_ + "/" + store::step_folder_name(step) + "/" + name;
  }
  static void flip_bit(const std::string& path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(fs::file_size(path) / 2));
    const char changed = static_cast<char>(file.get() ^ 16);
    file.seekp(static_cast<std::streamoff>(fs::file_size(path) / 2));
    file.put(changed);
  }

  Folder folder_;
  const std::string run_ = folder_ / "run", checkpoints_ = run_ + "/checkpoints", shard_ = "shard-p001-t000-d000.h5";
};

TEST_F(ResumeDamage, ADamagedCheckpointIsPassedOverWithItsName) {
  flip_bit(file(4, shard_));
  const Result result = train({"run.steps=6"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find(file(4, shard_)), std::string::npos) << result.err;
  EXPECT_EQ(occurrences(result.err, "warning"), 1) << result.err;
  EXPECT_NE(result.out.find("resumed from step 2"), std::string::npos);
  EXPECT_EQ(column(read_text(run_ + "/metrics.csv"), 0), (Words{"1", "2", "3", "4", "5", "6"}));
  EXPECT_EQ(steps_there(), (Words{"step-00000002", "step-00000004", "step-00000006"}))
      << "2 are kept, the damaged one not counted";
}

TEST_F(ResumeDamage, OneWithoutItsManifestOrUnderAnotherNameIsDamagedToo) {
  fs::rename(file(2, ""), checkpoints_ + "/step-00000777");
  fs::remove(file(4, "manifest.json"));
  const Result result = train({"run.steps=6"});
  EXPECT_EQ(result.status, 3) << result.out << result.err;
  EXPECT_NE(result.err.find("holds step 2, not 777"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(file(4, "manifest.json")), std::string::npos) << result.err;
  fs::rename(checkpoints_ + "/step-00000777", file(2, ""));
  const Result verified = test::run({program().string(), "checkpoint", "verify", run_});
  EXPECT_EQ(verified.status, 3) << "the newest one is damaged";
  EXPECT_EQ(train({"run.steps=6"}).status, 0);
}

TEST_F(ResumeDamage, WeightsThatChangedOnDiskAreNotExported) {
  flip_bit(file(4, shard_));
  const Result result = test::run({program().string(), "checkpoint", "export", run_, folder_ / "out.safetensors"});
  EXPECT_EQ(result.status, 3);
  EXPECT_NE(result.err.find(file(4, shard_)), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(folder_ / "out.safetensors"));
}

TEST_F(ResumeDamage, WhenNoneVerifiesNothingIsChanged) {
  const std::vector<std::function<void()>> damages = {[&] { fs::remove(file(2, shard_)); },
                                                      [&] { fs::resize_file(file(4, "manifest.json"), 700); }};
  for (const auto& damage : damages) damage();
  const std::string metrics = read_text(run_ + "/metrics.csv"), status = read_text(run_ + "/status");
  const Result result = train({"run.steps=6"});
  EXPECT_EQ(result.status, 3) << result.out << result.err;
  for (const std::string& name : {file(2, shard_), file(4, "manifest.json")})
    EXPECT_NE(result.err.find(name), std::string::npos) << result.err;
  EXPECT_EQ(occurrences(result.err, "no checkpoint in it verifies"), 1) << result.err;
  EXPECT_EQ(steps_there().size(), 2u);
  EXPECT_EQ(read_text(run_ + "/metrics.csv"), metrics);
  EXPECT_EQ(read_text(run_ + "/status"), status);
}

/// A size that no file may pass, once the run steps, stands for a disk without room.
TEST_F(ResumeDamage, AFullDiskIsSaidAndTheRunGoesOnButTheLastSaveDecides) {
  const Folder outputs;
  Process process(command({"run.steps=100", "checkpoint.every=60", "run.log_every=5"}), outputs);
  ASSERT_TRUE(reaches(run_, 5));
  const rlimit limit{100000, 100000};  // bytes: a shard has more, metrics.csv less
  for (const pid_t rank : ranks_of(run_)) prlimit(rank, RLIMIT_FSIZE, &limit, nullptr);
  const Result result = process.wait(60);
  EXPECT_EQ(result.status, 1) << result.out << result.err;
  EXPECT_NE(result.err.find("checkpoint of step 60 was not written"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("checkpoint of step 100 was not written"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("shard-p00"), std::string::npos) << result.err;
  EXPECT_EQ(column(read_text(run_ + "/metrics.csv"), 0).back(), "100");
  EXPECT_EQ(read_text(run_ + "/status").substr(0, 2), "1 ");
  EXPECT_NE(read_text(run_ + "/log.txt").find("checkpoint of step 60 was not written"), std::string::npos);
  EXPECT_TRUE(fs::exists(run_ + "/summary.json"));
  EXPECT_EQ(steps_there(), (Words{"step-00000002", "step-00000004"}));
  const Result again = train({"run.steps=8"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_NE(again.out.find("resumed from step 4"), std::string::npos);
}

TEST_F(ResumeDamage, ModelAndSamplesMayNotChangeOtherKeysAreListed) {
  const Result other = train({"run.steps=6", "model.hidden=32", "batch.global=8", "run.seed=3"});
  EXPECT_EQ(other.status, 2);
  for (const char* part : {"model.hidden: 64 in the checkpoint, 32 now", "batch.global: 16 in the checkpoint, 8 now", "run.seed"})
    EXPECT_NE(other.err.find(part), std::string::npos) << other.err;
  const Result changed = train({"run.steps=6", "optimizer.learning_rate=2e-3"});
  EXPECT_EQ(changed.status, 0) << changed.err;
  EXPECT_NE(changed.out.find("optimizer.learning_rate: 0.003 -> 0.002"), std::string::npos) << changed.out;
  const Result nothing = train({"run.steps=5"});
  EXPECT_EQ(nothing.status, 0);
  EXPECT_NE(nothing.out.find("nothing was left to do"), std::string::npos);
  EXPECT_TRUE(fs::exists(run_ + "/summary.json"));  // the finished run's
}

TEST_F(ResumeDamage, WeightsOfACheckpointStartAnotherRunWithoutItsMoments) {
  const std::string other = folder_ / "other";
  const auto start = [&](const Words& more) {
    Words words = {"train", "input/tiny.toml", "run.directory=" + other, "run.steps=1", "run.seed=9"};
    words.insert(words.end(), more.begin(), more.end());
    return test::run(on_ranks(2, words));
  };
  const Result wrong = start({"model.initial=" + run_, "model.layers=4"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_NE(wrong.err.find("model.layers: 8 in the checkpoint, 4 now"), std::string::npos) << wrong.err;
  EXPECT_FALSE(fs::exists(other));
  const Result result = start({"model.initial=" + run_, "optimizer.learning_rate=0", "optimizer.min_learning_rate=0"});
  ASSERT_EQ(result.status, 0) << result.err;
  const store::CheckpointReader before(file(4, "")), after(store::find_checkpoint(other));
  for (const auto& [name, shape] : before.manifest().tensors) {
    std::vector<float> a(store::elements_of(shape)), b(a.size());
    const store::Shape zero(shape.size(), 0);
    before.read({store::Quantity::parameters, name, shape, zero, shape, a.data()});
    after.read({store::Quantity::parameters, name, shape, zero, shape, b.data()});
    EXPECT_EQ(a, b) << name;  // nothing was learned
  }
}

TEST_F(ResumeDamage, WeightsOnlyGoesOnWithMomentsOfZero) {
  Words words = command({"run.steps=5", "optimizer.beta1=0.5"});
  words.push_back("--weights-only");
  const Result result = test::run(words);
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("parameters only"), std::string::npos);
  // After one step from zero: m = 0.5 g, v = 0.05 g^2, so v = 0.2 m^2, but for the clipping that both share.
  const store::CheckpointReader reader(store::find_checkpoint(run_));
  const auto& [name, shape] = reader.manifest().tensors.back();
  std::vector<float> m(store::elements_of(shape)), v(m.size());
  const store::Shape zero(shape.size(), 0);
  reader.read({store::Quantity::first_moment, name, shape, zero, shape, m.data()});
  reader.read({store::Quantity::second_moment, name, shape, zero, shape, v.data()});
  for (std::size_t i = 0; i < m.size(); ++i) EXPECT_NEAR(v[i], 0.2 * m[i] * m[i], 1e-5 * v[i] + 1e-37);
}

TEST(MetricsDamage, AStepTimesTheBatchThatIsTooLargeIsNoRow) {
  const std::string row = "2305843009213693953,8,,,,,,,,,,,,,\n";  // 8 times it is 8, modulo 2^64
  const run::KeptRows kept = run::kept_rows(row, 1, 8);
  EXPECT_EQ(kept.dropped, 1);
  EXPECT_EQ(kept.rows, "");
}

TEST(MetricsDamage, ARowThatIsNotThereCannotBeCompleted) {
  const Folder folder;
  run::MetricsFile metrics(folder / "metrics.csv", "");
  run::StepRecord record{.step = 3, .result = {}, .validation_loss = 1.5};
  EXPECT_FALSE(metrics.complete(record));
  record.validation_loss.reset();
  metrics.append(record);
  record.validation_loss = 1.5;
  EXPECT_TRUE(metrics.complete(record));
}

}  // namespace
}  // namespace trireme::test
