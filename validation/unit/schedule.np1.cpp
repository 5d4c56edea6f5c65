// Schedules by property, for all p <= 8, m <= 32. Oracles: the paper's figures 3 and 4 written down by hand, and the formulas of
// section 2.2. The proofs used here are themselves tested in schedule_proofs.
#include "schedule/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "base/error.h"
#include "schedule/messages.h"
#include "schedule/proofs.h"
#include "schedule/timing.h"

namespace {

using namespace trireme;
using namespace trireme::schedule;

/// "F0 B0": the list of a stage with one chunk.
std::vector<Action> parsed(const std::string& text) {
  std::istringstream words(text);
  std::vector<Action> actions;
  for (std::string word; words >> word;)
    actions.push_back({word[0] == 'F' ? Act::forward : Act::backward, std::stoi(word.substr(1))});
  actions.push_back({Act::optimizer_step});
  return actions;
}

void for_all(const std::function<void(const Schedule&)>& property) {
  for (const Kind kind : {Kind::gpipe, Kind::one_f_one_b})
    for (int p = 1; p <= 8; ++p)
      for (int m = 1; m <= 32; ++m) {
        SCOPED_TRACE(name_of(kind) + " p = " + std::to_string(p) + " m = " + std::to_string(m));
        property(make_schedule(kind, p, 1, m));
      }
}

TEST(Schedules, OneForwardOneBackwardIsFigure4) {
  const Schedule schedule = make_schedule(Kind::one_f_one_b, 4, 1, 8);
  EXPECT_EQ(schedule.actions[0], parsed("F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7"));
  EXPECT_EQ(schedule.actions[1], parsed("F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7"));
  EXPECT_EQ(schedule.actions[2], parsed("F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7"));
  EXPECT_EQ(schedule.actions[3], parsed("F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7"));
}

TEST(Schedules, GPipeIsFigure3) {
  const Schedule schedule = make_schedule(Kind::gpipe, 2, 1, 3);
  for (const auto& actions : schedule.actions) EXPECT_EQ(actions, parsed("F0 F1 F2 B0 B1 B2"));
}

TEST(Schedules, NamesAreThoseOfTheInputFile) {
  EXPECT_EQ(kind_named("gpipe"), Kind::gpipe);
  EXPECT_EQ(kind_named("1f1b"), Kind::one_f_one_b);
  EXPECT_EQ(kind_named("1F1B"), std::nullopt);
  EXPECT_EQ(kind_names(), "gpipe, 1f1b");
}

TEST(Schedules, RefuseWhatTheyCannotRun) {
  EXPECT_THROW(make_schedule(Kind::one_f_one_b, 2, 2, 4), base::Error);
  EXPECT_THROW(make_schedule(Kind::gpipe, 0, 1, 4), base::Error);
  EXPECT_THROW(make_schedule(Kind::gpipe, 2, 1, 0), base::Error);
}

TEST(Schedules, AllAreProven) {
  for_all(
      [](const Schedule& schedule) { EXPECT_EQ(violations(schedule, derive_messages(schedule)), std::vector<std::string>()); });
}

TEST(Schedules, BubbleIsThatOfTheFormula) {
  // Times are small integers and both sides one division of equal rationals: exact.
  for_all([](const Schedule& schedule) {
    const double expected = static_cast<double>(schedule.stages - 1) / schedule.microbatches;
    EXPECT_EQ(bubble(schedule, simulate(schedule, 1, 2), 1, 2), expected);
    EXPECT_EQ(bubble_formula(schedule), expected);
  });
}

TEST(Schedules, ActivationsAliveAreThoseOfThePaper) {
  for_all([](const Schedule& schedule) {
    const int p = schedule.stages, m = schedule.microbatches;
    for (int r = 0; r < p; ++r)
      EXPECT_EQ(peak_activations(schedule)[r], schedule.kind == Kind::gpipe ? m : std::min(p - r, m)) << "stage " << r;
  });
}

TEST(Messages, EachBoundaryIsCrossedOnceEachWay) {
  for_all([](const Schedule& schedule) {
    const Messages messages = derive_messages(schedule);
    EXPECT_EQ(std::ssize(messages.channels), 2 * (schedule.stages - 1));
    int sends = 0;
    for (const auto& groups : messages.before)
      for (const auto& group : groups)
        sends += static_cast<int>(std::count_if(group.begin(), group.end(), [](const Transfer& t) { return t.is_send; }));
    EXPECT_EQ(sends, 2 * (schedule.stages - 1) * schedule.microbatches);
  });
}

/// Two chunks a stage, all forward passes and then all backward passes: the wrap-around from the last stage to the first.
Schedule two_chunks(int p, int m) {
  Schedule schedule{Kind::gpipe, p, 2, m, {}};
  for (int stage = 0; stage < p; ++stage) {
    std::vector<Action> actions;
    for (int chunk : {0, 1})
      for (int i = 0; i < m; ++i) actions.push_back({Act::forward, i, chunk});
    for (int chunk : {1, 0})
      for (int i = 0; i < m; ++i) actions.push_back({Act::backward, i, chunk});
    actions.push_back({Act::optimizer_step});
    schedule.actions.push_back(actions);
  }
  return schedule;
}

/// The interleaved schedule of section 2.2.2, m a multiple of p: groups of p microbatches go through the chunks in turn, and the
/// first stage has 2 (p - 1) + (v - 1) p forward passes before its first backward pass.
Schedule interleaved(int p, int v, int m) {
  Schedule schedule{Kind::one_f_one_b, p, v, m, {}};
  const auto pass = [&](Act act, int k) {
    const int turn = k / p % v;
    return Action{act, k / (p * v) * p + k % p, act == Act::forward ? turn : v - 1 - turn};
  };
  for (int stage = 0; stage < p; ++stage) {
    const int warmup = std::min(m * v, 2 * (p - stage - 1) + (v - 1) * p);
    std::vector<Action> actions;
    for (int k = 0; k < warmup; ++k) actions.push_back(pass(Act::forward, k));
    for (int k = 0; k < m * v; ++k) {
      if (warmup + k < m * v) actions.push_back(pass(Act::forward, warmup + k));
      actions.push_back(pass(Act::backward, k));
    }
    actions.push_back({Act::optimizer_step});
    schedule.actions.push_back(actions);
  }
  return schedule;
}

TEST(Messages, SeveralChunksDoNotDeadlock) {
  for (int p = 1; p <= 8; ++p)
    for (int v = 2; v <= 4; ++v)
      for (int m = p; m <= 4 * p; m += p) {
        SCOPED_TRACE("p = " + std::to_string(p) + " v = " + std::to_string(v) + " m = " + std::to_string(m));
        for (const Schedule& schedule : {two_chunks(p, m), interleaved(p, v, m)})
          EXPECT_EQ(violations(schedule, derive_messages(schedule)), std::vector<std::string>());
        const Schedule schedule = interleaved(p, v, m);
        EXPECT_EQ(bubble(schedule, simulate(schedule, 1, 2), 1, 2), (p - 1.0) / (v * m)) << "section 2.2.2";
        for (int r = 0; r < p; ++r)
          EXPECT_EQ(peak_activations(schedule)[r], std::min(m * v, (v - 1) * p + 2 * (p - r - 1) + 1)) << "stage " << r;
      }
}

TEST(Messages, ChunksWrapFromTheLastStageToTheFirst) {
  const Schedule schedule = two_chunks(3, 1);
  const Messages messages = derive_messages(schedule);
  const std::vector<Channel> expected = {{0, 1, Payload::activation}, {0, 2, Payload::gradient},   {1, 0, Payload::gradient},
                                         {1, 2, Payload::activation}, {2, 0, Payload::activation}, {2, 1, Payload::gradient}};
  EXPECT_EQ(messages.channels, expected);
  EXPECT_EQ(violations(schedule, messages), std::vector<std::string>());
  EXPECT_EQ(peak_activations(schedule), (std::vector<int>{2, 2, 2}));
}

TEST(Messages, TwoStagesHaveAChannelForEachPayload) {
  const Messages messages = derive_messages(two_chunks(2, 2));
  EXPECT_EQ(messages.channels.size(), 4u) << "activations and gradients go both ways";
  EXPECT_EQ(violations(two_chunks(2, 2), messages), std::vector<std::string>());
}

TEST(Messages, OneStageHandsOverLocally) {
  const Schedule schedule = two_chunks(1, 3);
  const Messages messages = derive_messages(schedule);
  EXPECT_TRUE(messages.channels.empty());
  EXPECT_EQ(violations(schedule, messages), std::vector<std::string>());
  EXPECT_EQ(bubble(schedule, simulate(schedule, 1, 2), 1, 2), 0);
}

TEST(Timing, UnequalDependenciesByHand) {
  // p = 2, m = 1, F = 1, B = 2: 0-1 forward, 1-2 forward on stage 1, 2-4 backward, 4-6 backward on stage 0.
  const Timing timing = simulate(make_schedule(Kind::one_f_one_b, 2, 1, 1), 1, 2);
  EXPECT_EQ(timing.spans[1][0].begin, 1);
  EXPECT_EQ(timing.spans[1][1].end, 4);
  EXPECT_EQ(timing.spans[0][1].begin, 4);
  EXPECT_EQ(timing.seconds, 6);
}

TEST(Timing, AScheduleThatNeverEndsIsFound) {
  Schedule schedule = make_schedule(Kind::one_f_one_b, 2, 1, 2);
  std::swap(schedule.actions[1][0], schedule.actions[1][1]);
  EXPECT_THROW(simulate(schedule, 1, 2), base::Error);
}

}  // namespace
