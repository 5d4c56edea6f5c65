// What a run records of its steps. Oracle: numbers worked out by hand, and metrics.csv read by the test itself.
#include "run/recorder.h"

#include <algorithm>
#include <new>
#include <system_error>

#include <nlohmann/json.hpp>

#include "base/process.h"
#include "base/version.h"
#include "run/report.h"
#include "run/sources.h"
#include "spec/flops.h"
#include "validation/unit/support/mpi_main.h"
#include "validation/unit/support/run_files.h"
#include "validation/unit/support/small_run.h"

namespace trireme::test {
namespace {

using run::step_times;

TEST(StepTimes, LeaveTheFirstStepOutWhereThereAreOthers) {
  const run::StepTimes odd = step_times({100, 3, 1, 2});
  EXPECT_EQ(odd.count, 4);
  EXPECT_EQ((std::vector<double>{odd.least, odd.median, odd.most, odd.total}), (std::vector<double>{1, 2, 3, 6}));
  const run::StepTimes even = step_times({100, 8, 1, 2, 4});
  EXPECT_EQ((std::vector<double>{even.least, even.median, even.most, even.total}), (std::vector<double>{1, 3, 8, 15}));
  const run::StepTimes one = step_times({5});
  EXPECT_EQ((std::vector<double>{one.least, one.median, one.most, one.total}), (std::vector<double>{5, 5, 5, 5}));
}

TEST(KeptRows, AreWholeRisingAndOfTheBatch) {
  const std::string rest = ",32,4,,1,1,1,1,1,1,1,1,0,1\n";  // behind step and samples
  const std::string good = "1,8" + rest + "2,16" + rest + "3,24" + rest;
  EXPECT_EQ(run::kept_rows(good, 3, 8).rows, good);
  EXPECT_EQ(run::kept_rows(good, 3, 8).missing, "");
  EXPECT_EQ(run::kept_rows(good, 2, 8).rows, "1,8" + rest + "2,16" + rest);
  EXPECT_EQ(run::kept_rows(good, 2, 8).dropped, 0) << "the rows of later steps are no loss";
  const run::KeptRows twice = run::kept_rows("1,8" + rest + "1,8" + rest + "x,y" + rest + "2,9" + rest + "4,32" + rest, 5, 8);
  EXPECT_EQ(twice.rows, "1,8" + rest + "4,32" + rest);
  EXPECT_EQ(twice.dropped, 3);
  EXPECT_EQ(twice.missing, "2 to 3, 5");
  EXPECT_EQ(run::kept_rows(good.substr(0, good.size() - 1), 3, 8).missing, "3") << "a last row without its end";
}

TEST(Summary, HasWhatAStudyOfScalingNeeds) {
  const Folder folder;
  const std::string directory = folder / "run";
  ASSERT_EQ(test::run({program(), "train", "input/tiny.toml", "run.steps=8", "run.log_every=5", "run.threads=1",
                       "run.directory=" + directory})
                .status,
            0);
  const std::string metrics = read_text(directory + "/metrics.csv");
  const auto run = nlohmann::json::parse(read_text(directory + "/summary.json"))["run"];
  std::vector<double> seconds;
  for (const std::string& cell : column(metrics, 8)) seconds.push_back(std::stod(cell));
  ASSERT_EQ(seconds.size(), 8u) << "a row a step, whatever log_every says";
  EXPECT_EQ(occurrences(read_text(directory + "/log.txt"), "\nstep "), 3) << "1, 5 and the last";
  std::sort(seconds.begin() + 1, seconds.end());
  double total = 0;
  for (std::size_t k = 1; k < 8; ++k) total += seconds[k];
  EXPECT_EQ(run["seconds_a_step"]["least"], seconds[1]);
  EXPECT_EQ(run["seconds_a_step"]["median"], seconds[4]);
  EXPECT_EQ(run["seconds_a_step"]["most"], seconds[7]);
  EXPECT_DOUBLE_EQ(run["tokens_per_second"], 7 * 16 * 32 / total);  // B s tokens a step
  EXPECT_EQ(run["steps_of_last_start"], 8);
  EXPECT_EQ(run["threads"], 1);
  EXPECT_EQ(run["hosts"], nlohmann::json::array({world().host()}));
  EXPECT_EQ(run["version"], base::version);
  const auto peaks = column(metrics, 12);
  EXPECT_GE(run["peak_memory_bytes"].get<std::int64_t>(), std::stoll(peaks.back()));
  for (const std::string& peak : peaks) EXPECT_GT(std::stoll(peak), 1 << 20) << "of every step";
}

TEST(ShareOfThePeak, IsLeftOutOnceItCannotBeRight) {
  const Folder folder;
  const config::Config config = small_config(1, {"run.steps=9"});
  run::Start start;
  folder::RunFolder run_folder(folder / "run");
  run_folder.begin({});
  const double flops = spec::hardware_flops(config.model, config.parallel, 8);
  run::Recorder recorder(world(), config, start, {.begin = 0, .peak_flops = flops, .private_memory = 0}, &run_folder);
  recorder.open();
  for (const double seconds : {4.0, 2.0, 0.5, 0.25, 4.0})  // shares of 25 %, 50 %, then 200 %
    recorder.log(recorder.record(recorder.steps() + 1, {.loss = 1, .gradient_norm = 1, .learning_rate = 1}, seconds));
  const std::string log = read_text(folder / "run/log.txt");
  EXPECT_EQ(occurrences(log, " 25 %"), 1) << log;
  EXPECT_EQ(occurrences(log, " 50 %"), 1) << log;
  EXPECT_EQ(occurrences(log, " %"), 2) << log;
  EXPECT_EQ(occurrences(log, "note: step 3 computed "), 1) << log;
  EXPECT_EQ(occurrences(log, "note: "), 1) << log;
}

/// Two stages, m = 8: (p-1)/(v m) = 1/8. Passes take 1 + 1 s and 3 + 3 s, waiting for the other stage 10 s and 6 s.
TEST(EndTable, TheBubbleHasUnits) {
  const config::Config config = small_config(2, {"parallel.pipeline=2"});
  run::Start start;
  start.layout = layout::make_layout(config, 2);
  start.places.resize(2);
  const run::RankTable table{
      {{"seconds", "forward", 0}, {"seconds", "backward", 0}, {"wait_seconds", "pp_activation", 0}, {"run_seconds", "all", 0}},
      {{1, 1, 10, 20}, {3, 3, 6, 20}}};
  const std::string text = run::end_table(table, start);
  EXPECT_NE(
      text.find("a stage waits (p-1)/(v m) = 0.125 s for each second of forward + backward, by formula; measured, in the mean "
                "over the ranks: 2.000 s\n"),
      std::string::npos)
      << text;
}

TEST(StartBlock, CallsTheEntropyOfTheSourceByItsName) {
  const std::string line = run::open_sources({.config = small_config(1, {})}, world()).yardstick;
  EXPECT_NE(line.find("of entropy "), std::string::npos) << line;
  EXPECT_EQ(line.find("least loss"), std::string::npos) << line;
}

/// In a folder whose path is as long as a path may be, no other file has room for its name: as on a full disk, only the old one
/// is left to write into.
TEST(Status, HasTheReasonWhereNoNewFileCanBeMade) {
  const Folder folder;
  constexpr std::size_t longest = 4095, name = 7;  // of a path; "/status"
  std::string directory = folder.path();
  while (directory.size() + 202 < longest - name) directory += "/" + std::string(200, 'd');
  directory += "/" + std::string(longest - name - directory.size() - 1, 'd');
  fs::create_directories(directory);
  std::ofstream(directory + "/status") << "running\n";
  folder::write_end_in(directory, base::Exit::failure, "a long reason: No space left on device");
  EXPECT_EQ(read_text(directory + "/status"), "1 a long reason: No space left on device\n");
  folder::write_end_in(directory, base::Exit::saved, "short");
  EXPECT_EQ(read_text(directory + "/status"), "85 short\n");
}

TEST(WordsOf, WhatTheSystemRefusesIsSaid) {
  EXPECT_NE(base::words_of(std::bad_alloc()).find("out of memory"), std::string::npos);
  EXPECT_NE(base::words_of(std::system_error(EAGAIN, std::generic_category())).find("refused another thread"), std::string::npos);
  EXPECT_EQ(base::words_of(std::runtime_error("as it is")), "as it is");
}

}  // namespace
}  // namespace trireme::test

TRIREME_TEST_MAIN(1)
