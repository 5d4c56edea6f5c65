// The parts of src/grid that are pure functions. Oracle: expected texts and numbers written by hand. Exact.
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "grid/cores.h"
#include "grid/grid.h"
#include "grid/launcher.h"
#include "grid/topology.h"

namespace trireme::grid {
namespace {

TEST(Coordinates, WorkedTableOfTheHeader) {
  const Shape shape{2, 2, 2};
  EXPECT_EQ(coordinates_of(shape, 5), (Coordinates{1, 0, 1}));
  EXPECT_EQ(coordinates_of(shape, 6), (Coordinates{0, 1, 1}));
  EXPECT_EQ(rank_of({.tensor = 8, .data = 3, .pipeline = 5}, {7, 2, 4}), 119);
  EXPECT_EQ(rank_of({.tensor = 8, .data = 3, .pipeline = 5}, {1, 2, 3}), 1 + 8 * (2 + 3 * 3));
}

std::optional<std::string> mismatch(int size, const std::map<std::string, std::string>& environment) {
  return launcher_mismatch(size, [&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(Launcher, SeparateWorldsAreRefusedWithTheCure) {
  const auto by_step = mismatch(1, {{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_NTASKS", "4"}});
  ASSERT_TRUE(by_step);
  EXPECT_NE(by_step->find("SLURM_STEP_NUM_TASKS=4"), std::string::npos);
  EXPECT_NE(by_step->find("srun --mpi=pmi2"), std::string::npos);
  EXPECT_TRUE(mismatch(1, {{"SLURM_NTASKS", "4"}}));
  EXPECT_TRUE(mismatch(1, {{"PMI_SIZE", "2"}}));
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "FLUX_JOB_SIZE", "JSM_NAMESPACE_SIZE"})
    EXPECT_TRUE(mismatch(1, {{name, "2"}})) << name;
  const auto no_step = mismatch(1, {{"SLURM_NTASKS", "4"}});
  EXPECT_NE(no_step->find("inside a job, but not by srun"), std::string::npos) << *no_step;
  EXPECT_EQ(by_step->find("inside a job, but not by srun"), std::string::npos) << *by_step;
}

TEST(Launcher, RealWorldsAndRealSingleRanksAreAccepted) {
  EXPECT_FALSE(mismatch(1, {}));
  EXPECT_FALSE(mismatch(4, {{"SLURM_NTASKS", "4"}}));
  EXPECT_FALSE(mismatch(2, {{"SLURM_NTASKS", "4"}}));
  EXPECT_FALSE(mismatch(1, {{"PMI_SIZE", "1"}, {"SLURM_NTASKS", "4"}}));              // mpiexec -n 1 inside a job of 4
  EXPECT_FALSE(mismatch(1, {{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_NTASKS", "4"}}));  // srun -n 1 inside a job of 4
}

TEST(Launcher, OneOfManyProcessesIsKnownByAnyLauncher) {
  const auto launched = [](const std::map<std::string, std::string>& environment) {
    return launched_process([&](const char* name) -> const char* {
      const auto found = environment.find(name);
      return found == environment.end() ? nullptr : found->second.c_str();
    });
  };
  const std::vector<std::pair<const char*, const char*>> names = {{"PMI_SIZE", "PMI_RANK"},
                                                                  {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                                                  {"FLUX_JOB_SIZE", "FLUX_TASK_RANK"},
                                                                  {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};
  for (const auto& [size, rank] : names) {
    const LaunchedProcess process = launched({{size, "4"}, {rank, "3"}});
    EXPECT_EQ(process.count, 4) << size;
    EXPECT_EQ(process.rank, 3) << rank;
  }
  EXPECT_EQ(launched({}).count, 1);
  EXPECT_EQ(launched({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}).count, 1) << "a job's script, which runs once";
}

/// What a program does that only starts and stops the world; in a process of its own. Returns its exit status.
[[noreturn]] void start_world(const std::map<std::string, std::string>& environment, const std::function<void(World&)>& work) {
  for (const char* name :
       {"PMI_SIZE", "PMI_RANK", "PMI_FD", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_PROCID"})
    unsetenv(name);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  try {
    World world;
    work(world);
  } catch (const Agreed& agreed) {
    std::exit(static_cast<int>(agreed.status));
  }
  std::exit(0);
}

class StartDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }  // MPI may not be started in a fork
};

TEST_F(StartDeathTest, AWorldOfOneUnderALauncherOfManyEndsWith2AndTheCure) {
  EXPECT_EXIT(start_world({{"SLURM_STEP_NUM_TASKS", "4"}}, [](World&) {}), testing::ExitedWithCode(2), "srun --mpi=pmi2");
}

TEST_F(StartDeathTest, OnlyTheLaunchersFirstProcessSaysSo) {
  EXPECT_EXIT(start_world({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "3"}}, [](World&) {}), testing::ExitedWithCode(2),
              "^$");
  // Some launchers end all processes when one has ended: those that are silent leave the first one time to speak.
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EXIT(start_world({{"FLUX_JOB_SIZE", "4"}, {"FLUX_TASK_RANK", "1"}}, [](World&) {}), testing::ExitedWithCode(2), "^$");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

TEST_F(StartDeathTest, AWorldOfOneByItselfRuns) {
  EXPECT_EXIT(start_world({}, [](World& world) { std::exit(world.size() == 1 && world.node_size() == 1 ? 0 : 1); }),
              testing::ExitedWithCode(0), "");
}

TEST_F(StartDeathTest, AbortNamesTheRankAndGivesItsStatus) {
  EXPECT_EXIT(start_world({}, [](World& world) { world.abort(base::Exit::unresponsive, "rank 3 does not answer"); }),
              testing::ExitedWithCode(5), "rank 0 on .*: rank 3 does not answer");
}

/// What one rank alone ends all for is told to whoever keeps it, exactly while that wants it.
TEST_F(StartDeathTest, TheLastWordsAreKeptBeforeTheEnd) {
  const auto keep = [](base::Exit status, const std::string& why) {
    std::fprintf(stderr, "kept %d: %s\n", static_cast<int>(status), why.c_str());
  };
  EXPECT_EXIT(start_world({},
                          [&](World& world) {
                            const LastWords words(keep);
                            world.abort(base::Exit::unresponsive, "nothing moves");
                          }),
              testing::ExitedWithCode(5), "kept 5: rank 0 on .*: nothing moves");
  EXPECT_EXIT(start_world({},
                          [&](World& world) {
                            { const LastWords words(keep); }
                            world.abort(base::Exit::failure, "nothing moves");
                          }),
              testing::ExitedWithCode(1), "^rank 0 on [^\n]*: nothing moves\n");
}

TEST_F(StartDeathTest, AnExceptionOfAThreadIsKeptToo) {
  EXPECT_EXIT(start_world({},
                          [&](World&) {
                            const LastWords words([](base::Exit status, const std::string& why) {
                              std::fprintf(stderr, "kept %d: %s\n", static_cast<int>(status), why.c_str());
                            });
                            std::thread([] { throw std::runtime_error("no room"); }).join();
                          }),
              testing::ExitedWithCode(1), "kept 1: a rank on .*: no room");
}

TEST(Cores, CompactText) {
  EXPECT_EQ(compact({}), "");
  EXPECT_EQ(compact({7}), "7");
  EXPECT_EQ(compact({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
}

TEST(Cores, SharedOnesAreDividedAndOwnOnesKept) {
  EXPECT_EQ(fair_share({0, 1, 2, 3}, {1, 1, 1, 1}), 4);
  EXPECT_EQ(fair_share({0, 1, 2, 3}, {4, 4, 4, 4}), 1);
  EXPECT_EQ(fair_share({0, 1, 2, 3}, {3, 3, 3, 3}), 1);
  EXPECT_EQ(fair_share({0, 1, 2}, {3, 3, 3}), 1);
  EXPECT_EQ(fair_share({0, 1, 2, 3}, {1, 1, 2, 2}), 3);
  EXPECT_EQ(fair_share({2}, {1, 1, 8}), 1);  // never none
}

/// Ranks in blocks of `per_node`, t fastest.
std::vector<Place> places_in_blocks(const Shape& shape, int per_node) {
  std::vector<Place> places;
  for (int r = 0; r < shape.ranks(); ++r) {
    const int node = r / per_node;
    places.push_back({r, "nid" + std::to_string(node), node * per_node, r % per_node, per_node, "0-7", "cpu",
                      coordinates_of(shape, r), 100 + r});
  }
  return places;
}

TEST(Topology, FileAndTable) {
  const auto places = places_in_blocks({2, 1, 1}, 2);
  EXPECT_EQ(topology_tsv(places),
            "rank\thost\tnode\tnode_rank\tnode_size\tcores\tdevice\ttensor\tdata\tpipeline\tprocess\n"
            "0\tnid0\t0\t0\t2\t0-7\tcpu\t0\t0\t0\t100\n"
            "1\tnid0\t0\t1\t2\t0-7\tcpu\t1\t0\t0\t101\n");
  EXPECT_EQ(topology_table(places),
            "rank  host  local  cores  device  tensor  data  pipeline\n"
            "0     nid0  0/2    0-7    cpu     0       0     0\n"
            "1     nid0  1/2    0-7    cpu     1       0     0\n");
}

TEST(Topology, Above64RanksALineANode) {
  EXPECT_EQ(topology_table(places_in_blocks({4, 2, 16}, 64)),
            "host  ranks   device  tensor  data  pipeline\n"
            "nid0  0-63    cpu     0-3     0-1   0-7\n"
            "nid1  64-127  cpu     0-3     0-1   8-15\n");
}

TEST(Topology, GroupsInsideANodeAreCounted) {
  EXPECT_EQ(group_report(places_in_blocks({2, 2, 2}, 4), {2, 2, 2}),
            "tensor groups inside a node: 4/4\ndata groups inside a node: 4/4\npipeline groups inside a node: 0/4\n");
  EXPECT_EQ(group_report(places_in_blocks({4, 1, 2}, 6), {4, 1, 2}),
            "tensor groups inside a node: 1/2\npipeline groups inside a node: 2/4\n");
}

TEST(Topology, StrictPlacementRefusesTensorGroupsOverNodes) {
  EXPECT_NO_THROW(refuse_split_tensor_groups(places_in_blocks({2, 2, 2}, 2), {2, 2, 2}));
  try {
    refuse_split_tensor_groups(places_in_blocks({4, 1, 2}, 6), {4, 1, 2});
    FAIL() << "accepted";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), base::Exit::bad_input);
    EXPECT_NE(std::string(error.what()).find("ranks 4 .. 7"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace trireme::grid
