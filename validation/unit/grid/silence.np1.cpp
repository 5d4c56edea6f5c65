// Who is at fault when ranks fall silent. Oracle: tables of ranks drawn by hand, for (t, d, p) = (2, 2, 2), whose groups stand in
// grid/grid.h: tensor pairs 0 1, 2 3, 4 5, 6 7; data pairs 0 2, 1 3, 4 6, 5 7; pipeline pairs 0 4, 1 5, 2 6, 3 7.
#include "grid/silence.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "grid/node_notes.h"

namespace trireme::test {
namespace {

using namespace grid;
using Fault = Verdict::Fault;

constexpr Shape cube{2, 2, 2};
constexpr double limit = 30;

Seen working(int rank, Work work, double unchanged, int microbatch = 0) {
  Seen seen;
  seen.rank = rank;
  seen.unchanged = unchanged;
  seen.starting = false;
  seen.step = 6;
  seen.kind = kind_of(work);
  seen.subject = {.microbatch = microbatch, .chunk = 0};
  return seen;
}

Seen waiting(int rank, Traffic kind, double unchanged, int peer = -1) {
  Seen seen = working(rank, Work::forward, unchanged);
  seen.kind = kind_of(kind);
  seen.subject = {.peer = peer};
  return seen;
}

/// All wait since `unchanged` seconds for the step's end.
std::vector<Seen> all_wait(double unchanged) {
  std::vector<Seen> all;
  for (int r = 0; r < 8; ++r) all.push_back(waiting(r, Traffic::control, unchanged));
  return all;
}

std::vector<Identity> names() {
  std::vector<Identity> list;
  for (int r = 0; r < 8; ++r) list.push_back({"nid" + std::to_string(r / 4), r / 4 * 4, r % 4, 1000 + r});
  return list;
}

void expect(const std::vector<Seen>& all, Fault fault, const std::vector<int>& ranks) {
  const auto verdict = judge(all, limit, cube);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(static_cast<int>(verdict->fault), static_cast<int>(fault));
  EXPECT_EQ(verdict->ranks, ranks);
}

std::string words(const std::vector<Seen>& all) { return describe(judge(all, limit, cube).value(), all, names(), cube); }

void expect_words(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Silence, NobodyIsAtFaultWhileSomebodyGoesOn) {
  EXPECT_FALSE(judge(all_wait(29.9), limit, cube));
  auto all = all_wait(1000);
  all[3] = working(3, Work::evaluation, 1);  // the others wait for it
  EXPECT_FALSE(judge(all, limit, cube));
  all[3] = working(3, Work::checkpoint, 29);
  EXPECT_FALSE(judge(all, limit, cube));
}

TEST(Silence, ARankStuckInAnActionIsNamed) {
  auto all = all_wait(31);
  all[5] = working(5, Work::forward, 31, 7);
  expect(all, Fault::stuck, {5});
  expect_words(words(all), {"rank 5 on nid1 (process 1005; tensor 1, data 0, pipeline 1)", "gets nowhere for 31 s",
                            "step 7, forward of microbatch 7, chunk 0", "rank 0 waits for it in control, for 31 s",
                            "rank 3 waits for it", "3 more wait for it"});
}

TEST(Silence, BetweenActionsIsNoWait) {
  auto all = all_wait(31);
  all[2].kind = -1;
  expect(all, Fault::stuck, {2});
  expect_words(words(all), {"between actions"});
}

TEST(Silence, OfSeveralStuckTheOneThatIsLongest) {
  auto all = all_wait(40);
  all[6] = working(6, Work::output, 35);
  all[7] = working(7, Work::output, 38);
  expect(all, Fault::stuck, {7});
}

TEST(Silence, AStoppedRankIsNamedEvenIfItWasWaiting) {
  auto all = all_wait(31);
  all[4] = waiting(4, Traffic::tp_all_reduce, 32, -1);
  all[4].unheard = 32;
  all[0] = waiting(0, Traffic::pp_gradient, 31, 4);
  all[5] = waiting(5, Traffic::tp_all_reduce, 31);
  all[6] = waiting(6, Traffic::dp_all_reduce, 31);
  for (int r : {1, 2, 3, 7}) all[static_cast<std::size_t>(r)] = waiting(r, Traffic::pp_activation, 31, 6);
  expect(all, Fault::stopped, {4});
  const std::string text = words(all);
  expect_words(text,
               {"rank 4 on nid1", "does not run (stopped, swapped out or dead) for 32 s", "rank 0 waits for it in pp_gradient",
                "rank 5 waits for it in tp_all_reduce", "rank 6 waits for it in dp_all_reduce", "4 more wait for others"});
  EXPECT_EQ(text.find("rank 7 waits"), std::string::npos) << text;
}

TEST(Silence, AStoppedRankIsWaitedForInTheCollectiveItHasComeTo) {
  auto all = all_wait(31);
  all[5].unheard = 31;
  expect(all, Fault::stopped, {5});
  expect_words(words(all), {"waiting for control", "rank 0 waits for it in control", "3 more wait for it"});
  all = all_wait(31);
  all[4] = waiting(4, Traffic::tied_embedding, 31);
  all[4].unheard = 31;
  all[0] = waiting(0, Traffic::tied_embedding, 31);
  all[1] = waiting(1, Traffic::tied_embedding, 31);
  expect_words(words(all), {"rank 0 waits for it in tied_embedding", "rank 2 waits for it in control"});
  EXPECT_EQ(words(all).find("rank 1 waits for it"), std::string::npos);
}

TEST(Silence, AStoppedRankComesBeforeAStuckOne) {
  auto all = all_wait(31);
  all[1] = working(1, Work::output, 31);
  all[6].unheard = 31;
  expect(all, Fault::stopped, {6});
}

TEST(Silence, AThreadWithoutProcessorIsNoStoppedRank) {
  auto all = all_wait(20);
  all[6].unheard = 100;
  EXPECT_FALSE(judge(all, limit, cube)) << "its main thread goes on";
  all = all_wait(31);
  all[6] = working(6, Work::backward, 31);
  all[6].unheard = 29;
  expect(all, Fault::stuck, {6});
}

TEST(Silence, TheStartAndTheFirstStepHaveThreeTimesTheLimit) {
  auto all = all_wait(89);
  for (Seen& seen : all) seen.starting = true;
  all[3] = working(3, Work::forward, 89);
  all[3].starting = true;
  EXPECT_FALSE(judge(all, limit, cube));
  all[3].unchanged = 90;
  expect(all, Fault::stuck, {3});
  all[3].unheard = 90;
  expect(all, Fault::stopped, {3});
  all[3].step = -1;
  expect_words(words(all), {"before the first step"});
}

TEST(Silence, WhoHasEndedIsNotSilent) {
  auto all = all_wait(1);
  for (int r : {0, 3}) {
    all[static_cast<std::size_t>(r)] = working(r, Work::output, 1000);
    all[static_cast<std::size_t>(r)].unheard = 1000;
    all[static_cast<std::size_t>(r)].left = true;
  }
  EXPECT_FALSE(judge(all, limit, cube));
  for (Seen& seen : all) seen.left = true;
  EXPECT_FALSE(judge(all, limit, cube));
}

TEST(Silence, ACircleOfWaitsShowsItsRanksInOrder) {
  auto all = all_wait(31);
  all[0] = waiting(0, Traffic::pp_gradient, 33, 4);    // for stage 1
  all[4] = waiting(4, Traffic::tp_all_reduce, 32);     // for rank 5
  all[5] = waiting(5, Traffic::pp_activation, 32, 1);  // for stage 0
  all[1] = waiting(1, Traffic::tp_all_reduce, 32);     // for rank 0
  expect(all, Fault::circle, {0, 4, 5, 1});
  expect_words(words(all), {"rank 0 on nid0", "waits in a circle of 4 ranks for 33 s", "waiting for pp_gradient with rank 4",
                            "then rank 4 on nid1", "then rank 5 on nid1", "then rank 1 on nid0"});
  all.pop_back();
  EXPECT_FALSE(judge(all, limit, cube)) << "the last rank may be the one they wait for";
}

TEST(Silence, TheWayIntoACircleIsNoPartOfIt) {
  auto all = all_wait(31);
  all[7] = waiting(7, Traffic::pp_activation, 50, 3);
  all[3] = waiting(3, Traffic::pp_activation, 31, 2);
  all[2] = waiting(2, Traffic::pp_gradient, 31, 3);
  expect(all, Fault::circle, {3, 2});
}

TEST(Silence, AllInTheSameCollectiveLostAMessage) {
  auto all = all_wait(31);
  all[2].unchanged = 35;
  expect(all, Fault::lost, {2});
  expect_words(words(all), {"rank 2 on nid0", "a message was lost", "waiting for control"});
}

TEST(Silence, ANodeThatDoesNotAnswerIsStopped) {
  auto all = all_wait(31);
  for (int r = 4; r < 8; ++r) {
    Seen& seen = all[static_cast<std::size_t>(r)];
    seen = {};
    seen.rank = r;
    seen.known = false;
    seen.unheard = seen.unchanged = 1e9;
  }
  expect(all, Fault::stopped, {4, 5, 6, 7});
  expect_words(words(all), {"rank 4 on nid1", "is not heard of: its node does not answer", "also rank 7 on nid1",
                            "rank 0 waits for it in control"});
}

TEST(NodeNotes, RowsSurviveBeingWrittenAndRead) {
  std::vector<Seen> rows = {working(3, Work::backward, 12.25, 9), waiting(4, Traffic::pp_gradient, 1e9, 7)};
  rows[1].starting = rows[0].left = true;
  rows[1].unheard = 0.1;
  const auto copy = rows_of(rows_text(rows));
  ASSERT_EQ(copy.size(), 2u);
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(copy[k].rank, rows[k].rank);
    EXPECT_EQ(copy[k].unheard, rows[k].unheard);
    EXPECT_EQ(copy[k].unchanged, rows[k].unchanged);
    EXPECT_EQ(copy[k].starting, rows[k].starting);
    EXPECT_EQ(copy[k].left, rows[k].left);
    EXPECT_EQ(copy[k].step, rows[k].step);
    EXPECT_EQ(copy[k].kind, rows[k].kind);
    EXPECT_EQ(copy[k].subject.microbatch, rows[k].subject.microbatch);
    EXPECT_EQ(copy[k].subject.chunk, rows[k].subject.chunk);
    EXPECT_EQ(copy[k].subject.peer, rows[k].subject.peer);
  }
  for (const char* text : {"1 2 3\n", "x\n", "3 0 0 0 0 6 99 0 0 0\n", "3 0 0 0 0 6 -2 0 0 0\n"})
    EXPECT_THROW(rows_of(text), base::Error) << text;
}

}  // namespace
}  // namespace trireme::test
