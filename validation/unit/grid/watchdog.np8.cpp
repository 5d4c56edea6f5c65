// The watchdog on 8 ranks, as one node and as two: which rank it names, and that it is told once. Oracle: what the test makes
// the ranks do. Limits are short; every fault lasts until it is told or, at most, 20 s.
#include "grid/watchdog.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>

#include <mpi.h>
#include <signal.h>

#include "grid/mpi_communicator.h"
#include "validation/unit/support/mpi_main.h"
#include "validation/unit/support/process.h"

namespace trireme::test {
namespace {

using grid::kind_of;
using grid::Traffic;
using grid::Watchdog;
using grid::Work;

constexpr grid::Shape cube{2, 2, 2};

void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// A folder that all ranks know, and that shows them whether somebody has told a fault.
class Told {
 public:
  Told() {
    if (world().rank() == 0) folder_ = std::make_unique<Folder>(), path_ = folder_->path().string();
    world().everyone().broadcast(path_);
  }
  ~Told() { world().everyone().barrier(); }

  const std::string& path() const { return path_; }
  void tell(const std::string& what) { std::ofstream(path_ + "/told-" + std::to_string(world().rank())) << what; }
  bool anybody() const { return !texts().empty(); }
  std::vector<std::string> texts() const {
    std::vector<std::string> all;
    for (int r = 0; r < world().size(); ++r)
      if (fs::exists(path_ + "/told-" + std::to_string(r))) all.push_back(read_text(path_ + "/told-" + std::to_string(r)));
    return all;
  }

 private:
  std::unique_ptr<Folder> folder_;
  std::string path_;
};

/// Ranks 0-3 and 4-7 as nodes of their own, or all as one.
class Watched {
 public:
  explicit Watched(Told& told, int nodes) : told_(told) {
    const int node = nodes == 1 ? 0 : world().rank() / 4 * 4;
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, node, world().rank(), &comm);
    group_ = std::make_unique<grid::MpiCommunicator>(comm, world().progress(), world().activity());
    Watchdog::Options options;
    options.limit = 0.5;
    options.folder = told_.path() + "/watchdog";
    options.end = [this](const std::string& what) {
      told_.tell(what);
      for (const pid_t process : stopped_) kill(process, SIGCONT);
    };
    options.answer_seconds = 2;
    watchdog_ = std::make_unique<Watchdog>(world(), cube, options, grid::Control(*group_), node);
    for (std::int64_t step = 0; step < 2; ++step) world().activity().set_step(step), world().everyone().barrier(), sleep(0.1);
  }

  /// World rank 0 stops these processes; whoever tells wakes them.
  void stop(const std::vector<pid_t>& processes) { stopped_ = processes; }
  bool wait() const {
    for (int k = 0; k < 400 && !told_.anybody(); ++k) sleep(0.05);
    return told_.anybody();
  }

 private:
  Told& told_;
  std::unique_ptr<grid::MpiCommunicator> group_;
  std::vector<pid_t> stopped_;
  std::unique_ptr<Watchdog> watchdog_;
};

/// By rank.
std::vector<pid_t> processes() {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(world().size()));
  ids[static_cast<std::size_t>(world().rank())] = getpid();
  world().everyone().all_reduce(ids, grid::Reduce::maximum);
  return {ids.begin(), ids.end()};
}

void expect_told(const Told& told, const std::vector<std::string>& parts) {
  world().everyone().barrier();
  const auto texts = told.texts();
  ASSERT_EQ(texts.size(), 1u);
  for (const std::string& part : parts) EXPECT_NE(texts[0].find(part), std::string::npos) << part << "\n" << texts[0];
}

TEST(Watchdog, NamesARankThatGetsNowhere) {
  for (const int nodes : {1, 2}) {
    Told told;
    Watched watched(told, nodes);
    if (world().rank() == 6) {
      const grid::Activity::Scope scope(world().activity(), Work::forward, {.microbatch = 7, .chunk = 1});
      EXPECT_TRUE(watched.wait());
    }
    expect_told(told, {"rank 6 on", fmt::format("process {};", processes()[6]), "gets nowhere",
                       "step 2, forward of microbatch 7, chunk 1", "waits for it in control"});
  }
}

TEST(Watchdog, NamesAStoppedRankEvenIfItIsTheFirst) {
  Told told;
  Watched watched(told, 1);
  const auto ids = processes();
  watched.stop({ids[0]});
  if (world().rank() == 0) raise(SIGSTOP);
  expect_told(told, {"rank 0 on", fmt::format("process {};", ids[0]), "does not run", "step 2", "waits for it in control"});
}

TEST(Watchdog, NamesANodeThatDoesNotAnswer) {
  Told told;
  Watched watched(told, 2);
  const auto ids = processes();
  watched.stop({ids.begin() + 4, ids.end()});
  if (world().rank() >= 4) raise(SIGSTOP);
  expect_told(told, {"rank 4 on", "is not heard of: its node does not answer", "also rank 7", "waits for it in control"});
}

TEST(Watchdog, NamesACircleOverTwoNodes) {
  Told told;
  Watched watched(told, 2);
  const int rank = world().rank(), peer = rank == 1 ? 5 : 1;
  if (rank == 1 || rank == 5) {
    world().activity().begin(kind_of(rank == 1 ? Traffic::pp_gradient : Traffic::pp_activation), {.peer = peer});
    EXPECT_TRUE(watched.wait());
    world().activity().end();
  }
  expect_told(told,
              {"waits in a circle of 2 ranks", "waiting for pp_gradient with rank 5", "waiting for pp_activation with rank 1"});
}

TEST(Watchdog, SaysNothingOfARankThatIsAlive) {
  for (const int nodes : {1, 2}) {
    Told told;
    Watched watched(told, nodes);
    const int long_one = 7;
    if (world().rank() == long_one) {
      const grid::Activity::Scope scope(world().activity(), Work::checkpoint);
      for (int k = 0; k < 30; ++k) sleep(0.1), world().activity().alive();
    }
    world().everyone().barrier();
    EXPECT_FALSE(told.anybody()) << told.texts()[0];
  }
}

TEST(Watchdog, SaysNothingOfRanksThatHaveEnded) {
  Told told;
  {
    Watched watched(told, 1);
    for (int k = 0; k < 30 && world().rank() >= 6; ++k) sleep(0.1), world().activity().alive();
  }
  world().everyone().barrier();
  EXPECT_FALSE(told.anybody());
}

}  // namespace
}  // namespace trireme::test

TRIREME_TEST_MAIN(8)
