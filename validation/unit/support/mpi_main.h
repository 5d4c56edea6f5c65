// main() of the tests that run on several ranks: one World for all tests of a file, and one verdict for all ranks.
// A file NAME.npN.cpp ends with TRIREME_TEST_MAIN(N). Tests reach the world by trireme::test::world().
#pragma once

#include <cstdio>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "grid/world.h"

namespace trireme::test {

inline grid::World*& world_slot() {
  static grid::World* world = nullptr;
  return world;
}

inline grid::World& world() { return *world_slot(); }

/// Ranks other than 0 print their failures only. A fatal failure ends all ranks at once, since the others may wait for this one.
class RankPrinter : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo& test) override { test_ = test.name(); }

  /// Called with GoogleTest's lock held: asking it for the current test would wait for ever.
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed()) return;
    const std::string message = test_ + ": " + (result.file_name() ? result.file_name() : "") + ":" +
                                std::to_string(result.line_number()) + ": " + result.message();
    if (result.fatally_failed()) world().abort(base::Exit::failure, message);
    if (world().rank() != 0) std::fprintf(stderr, "rank %d: %s\n", world().rank(), message.c_str());
  }

  std::string test_ = "outside a test";
};

/// Failures on any rank fail the run on all. A run that hangs ends after five minutes.
inline int run_tests(int argc, char** argv, int ranks) {
  ::testing::InitGoogleTest(&argc, argv);
  alarm(300);
  grid::World world;
  world_slot() = &world;
  if (world.size() != ranks) {
    if (world.rank() == 0) std::fprintf(stderr, "this test runs on %d ranks, not on %d\n", ranks, world.size());
    return 1;
  }
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (world.rank() != 0) delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new RankPrinter);
  std::int64_t failed = RUN_ALL_TESTS();
  world.everyone().all_reduce(failed, grid::Reduce::maximum);
  return failed != 0;
}

}  // namespace trireme::test

#define TRIREME_TEST_MAIN(ranks) \
  int main(int argc, char** argv) { return trireme::test::run_tests(argc, argv, ranks); }
