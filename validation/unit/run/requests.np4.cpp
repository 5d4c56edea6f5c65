// What makes a run go on, save, or end. Oracle: what the test does: which rank gets which signal, which file is there, how much
// time is left by the formula of the header.
#include "run/requests.h"

#include <chrono>
#include <memory>

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include "validation/unit/support/mpi_main.h"
#include "validation/unit/support/process.h"

namespace trireme::test {
namespace {

using run::Request;
using run::Requests;
using run::Signals;

void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

class EarlyEnd : public testing::Test {
 protected:
  EarlyEnd() {
    if (world().rank() == 0) folder_ = std::make_unique<Folder>(), path_ = folder_->path().string();
    world().everyone().broadcast(path_);
  }
  ~EarlyEnd() override { world().everyone().barrier(); }

  /// Rank 0 makes the file; all know that it is there.
  void make(const std::string& name) {
    if (world().rank() == 0) std::ofstream(path_ + "/" + name) << "";
    world().everyone().barrier();
  }

  const Signals signals_;
  std::unique_ptr<Folder> folder_;
  std::string path_;
};

TEST_F(EarlyEnd, ASignalToOneRankIsEverybodysAndTheFirstCounts) {
  for (const int rank : {0, 3}) {
    const Signals signals;
    Requests requests(world(), signals, path_, 0);
    EXPECT_EQ(requests.next(), Request::none);
    EXPECT_EQ(requests.reason(), "");
    if (world().rank() == rank) raise(SIGTERM), raise(SIGUSR1), raise(SIGTERM);
    for (int k = 0; k < 2; ++k) EXPECT_EQ(requests.next(), Request::save_and_requeue);
    EXPECT_EQ(requests.reason(), fmt::format("signal TERM, received by rank {}", rank));
  }
}

TEST_F(EarlyEnd, OfSeveralRanksWithASignalTheLowestIsNamed) {
  Requests requests(world(), signals_, path_, 0);
  if (world().rank() > 0) raise(world().rank() == 1 ? SIGUSR1 : SIGINT);
  EXPECT_EQ(requests.next(), Request::save_and_requeue);
  EXPECT_EQ(requests.reason(), "signal USR1, received by rank 1");
}

int caught = 0;

TEST_F(EarlyEnd, WhatSignalsDidBeforeTheyDoAfterwards) {
  signal(SIGUSR1, [](int) { ++caught; });
  {
    const Signals signals;
    raise(SIGUSR1);
    EXPECT_EQ(signals.received(), SIGUSR1);
    EXPECT_EQ(caught, 0);
  }
  raise(SIGUSR1);
  EXPECT_EQ(caught, 1);
}

TEST_F(EarlyEnd, EachSaveFileAsksOnceAndStopStays) {
  Requests requests(world(), signals_, path_, 0);
  make("SAVE");
  EXPECT_EQ(requests.next(), Request::save);
  EXPECT_FALSE(fs::exists(path_ + "/SAVE"));
  EXPECT_EQ(requests.next(), Request::save) << "not yet honoured";
  requests.honoured();
  world().everyone().barrier();
  make("SAVE");
  EXPECT_EQ(requests.next(), Request::none) << "files are looked at once a second";
  sleep(1.1);
  EXPECT_EQ(requests.next(), Request::save);
  EXPECT_FALSE(run::stops_at_start(world(), path_));
  make("STOP");
  EXPECT_TRUE(run::stops_at_start(world(), path_));
  sleep(1.1);
  if (world().rank() == 2) raise(SIGTERM);
  for (int k = 0; k < 2; ++k) EXPECT_EQ(requests.next(), Request::save_and_end) << "who asks for the end wants no other turn";
  EXPECT_TRUE(fs::exists(path_ + "/STOP"));
}

TEST_F(EarlyEnd, TheMarginIsTwoSavesTwoSlowestStepsAndFivePercent) {
  Requests requests(world(), signals_, path_, 100);
  EXPECT_EQ(requests.margin(), 5);
  EXPECT_EQ(Requests(world(), signals_, path_, 1e6).margin(), 60);
  requests.next();
  sleep(0.05);
  requests.save_took(1000);
  requests.next();
  EXPECT_EQ(requests.margin(), 5 + 2 * 1000) << "the wait for a save is no step";
  sleep(0.05);
  requests.next();
  EXPECT_GE(requests.margin(), 5 + 2 * 1000 + 2 * 0.05);
}

TEST_F(EarlyEnd, TimeIsUpForAllWhenItIsForOne) {
  const double limit = 20;  // 5 %: 1 s
  Requests requests(world(), signals_, path_, limit);
  EXPECT_EQ(requests.next(), Request::none);
  if (world().rank() == 1) requests.save_took(8);  // 2 x 8 + 1 and what went by: not yet 20
  EXPECT_EQ(requests.next(), Request::none);
  if (world().rank() == 1) requests.save_took(9.6);
  EXPECT_EQ(requests.next(), Request::save_and_requeue);
  EXPECT_EQ(requests.reason(), "the job's time of 0:00:20 comes to its end");
}

TEST_F(EarlyEnd, WhatElseIsToldIsTheLargestOfAllRanks) {
  Requests requests(world(), signals_, path_, 0);
  const std::int64_t rank = world().rank();
  std::vector<std::int64_t> also = {rank, -rank, 7};
  EXPECT_EQ(requests.next(also), Request::none);
  EXPECT_EQ(also, (std::vector<std::int64_t>{3, 0, 7}));
}

}  // namespace
}  // namespace trireme::test

TRIREME_TEST_MAIN(4)
