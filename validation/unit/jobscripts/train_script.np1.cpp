// jobscripts/train.sbatch as a compute node's shell runs it, with stand-ins for Slurm's commands. Oracle: what the stand-ins
// wrote down of how they were called, and the exit statuses of the README. validation/slurm/run.sh runs the script under a real
// Slurm.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "validation/unit/jobscripts/job.h"

namespace trireme::test {
namespace {

const Words task = {"SLURM_ARRAY_JOB_ID=7", "SLURM_ARRAY_TASK_ID=3", "SQUEUE=4:00"};

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(TrainScript, TrainsATaskOfAnArrayWhoseIdIsTheArrays) {
  Job job;
  const Result result = job.run(with(task, {"LAUNCH=" + launcher()}), {"run.steps=3"});
  EXPECT_EQ(result.status, 0) << result.out << result.err << job.seen;
  EXPECT_TRUE(contains(job.seen, "[run.time_limit=240s]")) << job.seen;
  EXPECT_EQ(read_text(job.directory + "/status"), "0 done\n");
}

TEST(TrainScript, RequeuesTheTaskAndNotTheWholeArray) {
  Job job;
  EXPECT_EQ(job.run(with(task, {"STATUS=85 saved at step 3 of 20: signal USR1", "CODE=1"})).status, 85);
  EXPECT_EQ(occurrences(job.seen, "scontrol requeue 7_3\n"), 1) << job.seen;
  EXPECT_EQ(occurrences(job.seen, "scontrol requeue"), 1) << job.seen;
}

TEST(TrainScript, PercentAIsTheNumberOfTheTask) {
  Job job;
  const std::string base = job.directory;
  job.directory = base + "-%a";
  EXPECT_EQ(job.run(task, {"run.seed=%a"}).status, 0);
  EXPECT_TRUE(contains(job.seen, "[run.directory=" + base + "-3]\n[run.seed=3]")) << job.seen;
  EXPECT_EQ(job.run({}).status, 0);
  EXPECT_TRUE(contains(job.seen, "[run.directory=" + base + "-%a]")) << "no array, no number: " << job.seen;
}

TEST(TrainScript, CountsRanksHoweverTheJobsShapeWasGiven) {
  Job job;
  const std::vector<std::pair<Words, int>> shapes = {
      {{"SLURM_NTASKS=4", "SLURM_TASKS_PER_NODE=1"}, 4},
      {{"-uSLURM_NTASKS", "SLURM_JOB_NUM_NODES=2", "SLURM_NTASKS_PER_NODE=4"}, 8},
      {{"-uSLURM_NTASKS", "SLURM_JOB_NUM_NODES=2", "SLURM_TASKS_PER_NODE=4(x2)"}, 8},
      {{"-uSLURM_NTASKS", "SLURM_JOB_NUM_NODES=4", "SLURM_TASKS_PER_NODE=2(x3),1(x2)"}, 8},
      {{"-uSLURM_NTASKS", "SLURM_JOB_NUM_NODES=2", "SLURM_TASKS_PER_NODE=3,1"}, 4},
  };
  for (const auto& [settings, ranks] : shapes) {
    Words all = settings;
    if (settings[0] == "-uSLURM_NTASKS") all[0] = "SLURM_NTASKS=";
    const Result result = job.run(all);
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_TRUE(contains(job.seen, fmt::format("srun --ntasks={}\n", ranks))) << job.seen << result.err;
  }
}

TEST(TrainScript, RefusesWhatIsNoJobOfEqualRanks) {
  Job job;
  const std::vector<std::pair<Words, std::string>> cases = {
      {{"SLURM_NTASKS=", "SLURM_JOB_NUM_NODES=1", "SLURM_TASKS_PER_NODE=1"}, "say how many ranks"},
      {{"SLURM_NTASKS="}, "say how many ranks"},
      {{"SLURM_HET_SIZE=2"}, "a heterogeneous job has 2 groups of nodes"},
      {{"SLURM_JOB_ID="}, "this is a job script"},
      {{"MAX_RESTARTS=many"}, "MAX_RESTARTS=many is not a whole number"},
      {{"TRIREME=/nowhere/trireme"}, "/nowhere/trireme is not a program"},
      {{"SITE=nowhere"}, "there is no jobscripts/site/nowhere.env in any of"},
  };
  for (const auto& [settings, message] : cases) {
    const Result result = job.run(settings);
    EXPECT_EQ(result.status, 2) << message << result.out << result.err;
    EXPECT_TRUE(contains(result.err, message)) << result.err;
    EXPECT_FALSE(contains(job.seen, "srun")) << job.seen;
  }
}

TEST(TrainScript, AMistakeInTheWordsEndsTheJobWith2BeforeAnyRankStarts) {
  Job job;
  const Result result = job.run({}, {"model.layer=4"});
  EXPECT_EQ(result.status, 2);
  EXPECT_TRUE(contains(result.err, "unknown key 'model.layer'")) << result.err;
  EXPECT_FALSE(contains(job.seen, "srun") || contains(job.seen, "requeue")) << job.seen;
}

// The stand-in for sleep waits for nothing, so "later" is at once here.
TEST(TrainScript, ASignalAtTheBeginOfAShortJobIsPassedOnLater) {
  Job job;
  const Result result = job.run({"SIGNALS=kill -USR1 $PPID; until [ -n \"$got\" ]; do read -rt 0.02 <> <(:); done"});
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_EQ(occurrences(result.out, "USR1 came too early, with 14"), 1) << result.out;  // 14400 s, less if the machine is slow
  EXPECT_EQ(occurrences(result.out, "The run is asked when 3600 s are left"), 1) << result.out;
  EXPECT_FALSE(contains(result.out, "USR1: the run is asked")) << result.out;
  EXPECT_EQ(occurrences(result.out, "ALRM: the run is asked to save and end"), 1) << result.out;
  EXPECT_EQ(occurrences(job.seen, "srun got USR1"), 1) << job.seen;
}

TEST(TrainScript, OtherSignalsAndALateUsr1ReachTheRunAtOnce) {
  Job job;
  for (const std::string signal : {"TERM", "HUP"}) {
    const Result result = job.run({"SIGNALS=kill -" + signal + " $PPID; until [ -n \"$got\" ]; do read -rt 0.02 <> <(:); done"});
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_TRUE(contains(result.out, signal + ": the run is asked to save and end")) << result.out;
  }
  // With half of the time gone, and where nothing is known of the time. No clock is compared: the first waits long enough.
  const std::string send = "kill -USR1 $PPID; until [ -n \"$got\" ]; do read -rt 0.02 <> <(:); done";
  for (const Words& settings : {Words{"SQUEUE=0:02", "SIGNALS=/bin/sleep 1; " + send},
                                {"SQUEUE=UNLIMITED", "SIGNALS=" + send},
                                {"SQUEUE=fails", "SIGNALS=" + send}}) {
    const Result result = job.run(settings);
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_FALSE(contains(result.out, "too early")) << result.out;
  }
}

TEST(TrainScript, ATurnWithoutAStepIsTheLast) {
  Job job;
  write_text_below(job.directory + "/status", "85 saved at step 3 of 20: signal USR1, received by rank 0\n");
  const Result stuck = job.run({"SLURM_RESTART_COUNT=1", "STATUS=85 saved at step 3 of 20: the job's time comes to its end"});
  EXPECT_EQ(stuck.status, 85);
  EXPECT_TRUE(contains(stuck.out, "this turn made no step, it is still step 3: not again")) << stuck.out;
  EXPECT_FALSE(contains(job.seen, "requeue")) << job.seen;
  EXPECT_EQ(job.run({"SLURM_RESTART_COUNT=1", "STATUS=85 saved at step 4 of 20: the job's time comes to its end"}).status, 85);
  EXPECT_TRUE(contains(job.seen, "scontrol requeue 7\n")) << job.seen;
}

TEST(TrainScript, ComesBackOnlyAsOftenAndForWhatWasAsked) {
  const std::string saved = "STATUS=85 saved at step 3 of 20: signal USR1";
  struct Case {
    Words settings;
    int status;
    bool again;
    std::string message;
  };
  const std::vector<Case> cases = {
      {{saved, "CODE=1"}, 85, true, ""},
      {{saved, "MAX_RESTARTS=2", "SLURM_RESTART_COUNT=2"}, 85, false, "2 restarts: not again"},
      {{saved, "STATE=COMPLETING 3:59:00"}, 85, false, "this job was cancelled: not again"},  // scancel
      {{saved, "STATE=COMPLETING UNLIMITED"}, 85, false, "this job was cancelled: not again"},
      {{saved, "STATE=COMPLETING 0:00"}, 85, true, ""},  // the end of its time
      {{saved, "STATE=COMPLETING INVALID"}, 85, true, ""},
      {{saved, "REQUEUE_FAILS=1"}, 85, true, "Slurm does not take this job again"},
      {{"STATUS=5 rank 1 was silent", "CODE=137"}, 5, false, ""},
      {{"STATUS=5 rank 1 was silent", "CODE=137", "REQUEUE_ON=85 5"}, 5, true, ""},
      {{"STATUS=running", "CODE=137"}, 137, false, ""},
      {{"STATUS=", "CODE=1"}, 1, false, "nothing new"},
  };
  for (const Case& c : cases) {
    Job job;
    const Result result = job.run(c.settings);
    EXPECT_EQ(result.status, c.status) << result.out << result.err;
    EXPECT_EQ(contains(job.seen, "scontrol requeue"), c.again) << job.seen << result.out;
    EXPECT_TRUE(contains(result.out, c.message)) << c.message << result.out;
  }
}

TEST(TrainScript, WithoutScontrolTheUserIsToldToSubmitAgain) {
  Job job;
  fs::remove(job.folder / "bin/scontrol");  // where the machine has one, it knows no job 7
  const Result result = job.run({"STATUS=85 saved at step 3 of 20: signal USR1", "SLURM_CONF=/dev/null"});
  EXPECT_EQ(result.status, 85) << result.out << result.err;
  EXPECT_TRUE(contains(result.out, "submit the same command once more")) << result.out;
}

TEST(TrainScript, UnderstandsEveryTimeThatSlurmPrints) {
  const std::vector<std::pair<std::string, std::string>> cases = {{"1-02:03:04", "[run.time_limit=93784s]"},
                                                                  {"08:09:10", "[run.time_limit=29350s]"},
                                                                  {"1:59", "[run.time_limit=119s]"},
                                                                  {"0:00", "[run.time_limit=1s]"},
                                                                  {"UNLIMITED", ""},
                                                                  {"INVALID", ""},
                                                                  {"NOT_SET", ""},
                                                                  {"fails", ""}};
  for (const auto& [answer, word] : cases) {
    Job job;
    const Result result = job.run({"SQUEUE=" + answer});
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_TRUE(contains(job.seen, word)) << job.seen;
    EXPECT_EQ(contains(job.seen, "run.time_limit"), !word.empty()) << answer << job.seen;
    EXPECT_EQ(contains(result.out, "only Slurm's signal ends the run in time"), word.empty() && answer != "UNLIMITED")
        << result.out;
  }
  Job job;  // a limit of the user's own stays alone
  job.run({}, {"run.time_limit=90s"});
  EXPECT_TRUE(contains(job.seen, "[run.time_limit=90s]") && occurrences(job.seen, "run.time_limit") == 1) << job.seen;
}

TEST(TrainScript, AWeightsOnlyStartIsNotRepeatedWhenTheJobComesBack) {
  Job job;
  EXPECT_EQ(job.run({"STATUS=85 saved at step 3 of 20: signal USR1"}, {"--weights-only"}).status, 85);
  EXPECT_TRUE(contains(job.seen, "[--weights-only]")) << job.seen;
  EXPECT_EQ(job.run({"SLURM_RESTART_COUNT=1"}, {"--weights-only"}).status, 0);
  EXPECT_FALSE(contains(job.seen, "[--weights-only]")) << job.seen;
}

/// A project in a folder with a space, submitted from another folder: Slurm runs a copy of the script.
struct Elsewhere : Job {
  Elsewhere() {
    write_script(project + "/jobscripts/train.sbatch", read_text("jobscripts/train.sbatch"));
    write_script(folder / "spool/slurm_script", read_text("jobscripts/train.sbatch"));
    fs::create_directories(project + "/build");
    fs::create_symlink(program(), project + "/build/trireme");
    in = folder / "study two";
    write_text_below(in + "/my input.toml", read_text("input/tiny.toml"));
    input = "my input.toml";
    directory = "results of mine";
  }
  Result submit(Words settings) {
    settings.push_back("TRIREME=");
    return run(settings, {}, folder / "spool/slurm_script");
  }
  std::string project = folder / "my project";
};

TEST(TrainScript, FindsTheProgramFromTheScriptThatWasSubmitted) {
  Elsewhere job;
  const Result result = job.submit({"COMMAND=" + job.project + "/jobscripts/train.sbatch my input.toml run.directory=x"});
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_TRUE(contains(result.out, "program " + job.project + "/build/trireme, results in results of mine\n")) << result.out;
  EXPECT_TRUE(contains(job.seen, "[my input.toml]\n[run.directory=results of mine]")) << job.seen;
}

TEST(TrainScript, SaysWhereItLookedForTheProgram) {
  Elsewhere job;
  const Result result = job.submit({"COMMAND="});
  EXPECT_EQ(result.status, 2);
  EXPECT_TRUE(contains(result.err, "there is no program build/trireme in any of")) << result.err;
  EXPECT_TRUE(contains(result.err, "  " + job.in + "\n")) << result.err;
  EXPECT_TRUE(contains(result.err, "TRIREME=/path/to/trireme")) << result.err;
}

TEST(TrainScript, RunsInTheFolderThatTheJobWasGiven) {
  Elsewhere job;  // sbatch --chdir: the folder of the job is not that of the submission
  const Result result =
      job.submit({"COMMAND=" + job.project + "/jobscripts/train.sbatch x", "SLURM_SUBMIT_DIR=" + job.folder / "bin"});
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_TRUE(fs::exists(job.in + "/results of mine/status"));
}

TEST(TrainScript, SiteFilesAreReadAndTheirFailuresAreNotPassedOver) {
  Elsewhere job;
  const std::string command = "COMMAND=" + job.project + "/jobscripts/train.sbatch x",
                    site = job.project + "/jobscripts/site/here.env";
  write_text_below(site, "[ -n \"$NOT_SET\" ] || true\nexport FROM_SITE=1 SLURM_MPI_TYPE=pmix\nMAX_RESTARTS=0\n");
  Result result = job.submit({command, "SLURM_CLUSTER_NAME=here", "STATUS=85 saved at step 3 of 20: signal"});
  EXPECT_EQ(result.status, 85) << result.out << result.err;
  EXPECT_TRUE(contains(job.seen, "FROM_SITE=1") && contains(job.seen, "SLURM_MPI_TYPE=pmix")) << job.seen;
  EXPECT_TRUE(contains(job.seen, "SLURM_EXPORT_ENV=ALL")) << job.seen;
  EXPECT_TRUE(contains(result.out, "0 restarts: not again")) << result.out;
  for (const std::string text :
       {"no_such_module load mpich\nexport FROM_SITE=1\n", "if then fi\n", "export FROM_SITE=1; false\n"}) {
    write_text_below(site, text);
    result = job.submit({command, "SITE=here"});
    EXPECT_EQ(result.status, 2) << text << result.out << result.err;
    EXPECT_TRUE(contains(result.err, site + ": this command failed: ")) << result.err;
    EXPECT_FALSE(contains(job.seen, "srun")) << job.seen;
  }
}

TEST(TrainScript, AProgramThatTheNodeCannotRunIsNamed) {
  Job job;
  write_script(job.folder / "broken", "#!/no/such/loader\n");
  const Result result = job.run({"TRIREME=" + job.folder / "broken"});
  EXPECT_EQ(result.status, 2) << result.out << result.err;
  EXPECT_TRUE(contains(result.err, job.folder / "broken does not run on ")) << result.err;
}

}  // namespace
}  // namespace trireme::test
