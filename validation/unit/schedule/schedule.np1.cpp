// Schedules by property, for all p <= 8, m <= 32. Oracles: the paper's figures 3 and 4 written down by hand, and the formulas of
// section 2.2. The proofs used here are themselves tested in proofs.np1.cpp.
#include "schedule/schedule.h"

#include <algorithm>
#include <functional>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "config/keys.h"
#include "schedule/messages.h"
#include "schedule/proofs.h"
#include "schedule/timing.h"

namespace {

using namespace trireme;
using namespace trireme::schedule;

/// "F0 B0.1": the list of a stage; the number after the point is the chunk.
std::vector<Action> parsed(const std::string& text) {
  std::istringstream words(text);
  std::vector<Action> actions;
  for (std::string word; words >> word;)
    actions.push_back({word[0] == 'F' ? Act::forward : Act::backward, std::stoi(word.substr(1)),
                       word.find('.') == std::string::npos ? 0 : std::stoi(word.substr(word.find('.') + 1))});
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
  EXPECT_EQ(kind_names(), "gpipe, 1f1b, interleaved");
}

TEST(Schedule, EveryWordThatTheKeyAllowsNamesASchedule) {
  for (const std::string& word : config::find_key("parallel.schedule")->built) EXPECT_TRUE(kind_named(word)) << word;
}

TEST(Schedule, ANameThatNoScheduleHasIsRefused) {
  try {
    require_kind("1b1f");
    FAIL() << "not refused";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), base::Exit::bad_input);
    EXPECT_STREQ(error.what(), "parallel.schedule = \"1b1f\": the schedules are gpipe, 1f1b, interleaved");
  }
}

TEST(Schedules, RefuseWhatTheyCannotRun) {
  EXPECT_THROW(make_schedule(Kind::one_f_one_b, 2, 2, 4), base::Error);
  EXPECT_THROW(make_schedule(Kind::interleaved, 1, 2, 4), base::Error);
  EXPECT_THROW(make_schedule(Kind::interleaved, 2, 1, 4), base::Error);
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
    EXPECT_EQ(bubble(simulate(schedule)), expected);
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

TEST(Messages, TwoChunksInTurnDoNotDeadlock) {
  for (int p = 1; p <= 8; ++p)
    for (int m = 1; m <= 32; ++m) {
      SCOPED_TRACE("p = " + std::to_string(p) + " m = " + std::to_string(m));
      EXPECT_EQ(violations(two_chunks(p, m), derive_messages(two_chunks(p, m))), std::vector<std::string>());
    }
}

void for_all_interleaved(const std::function<void(const Schedule&)>& property) {
  for (int p = 2; p <= 8; ++p)
    for (int v = 2; v <= 4; ++v)
      for (int m = 1; m <= 32; ++m) {
        SCOPED_TRACE("p = " + std::to_string(p) + " v = " + std::to_string(v) + " m = " + std::to_string(m));
        property(make_schedule(Kind::interleaved, p, v, m));
      }
}

TEST(Interleaved, IsFigure4) {
  const Schedule schedule = make_schedule(Kind::interleaved, 4, 2, 8);
  EXPECT_EQ(schedule.actions[0],
            parsed("F0 F1 F2 F3 F0.1 F1.1 F2.1 F3.1 F4 F5 F6 B0.1 F7 B1.1 F4.1 B2.1 F5.1 B3.1 F6.1 B0 F7.1 B1 "
                   "B2 B3 B4.1 B5.1 B6.1 B7.1 B4 B5 B6 B7"));
  EXPECT_EQ(schedule.actions[3],
            parsed("F0 F1 F2 F3 F0.1 B0.1 F1.1 B1.1 F2.1 B2.1 F3.1 B3.1 F4 B0 F5 B1 F6 B2 F7 B3 F4.1 B4.1 F5.1 "
                   "B5.1 F6.1 B6.1 F7.1 B7.1 B4 B5 B6 B7"));
}

TEST(Interleaved, IsProvenForAnyNumberOfMicrobatches) {
  for_all_interleaved(
      [](const Schedule& schedule) { EXPECT_EQ(violations(schedule, derive_messages(schedule)), std::vector<std::string>()); });
}

TEST(Interleaved, BubbleAndActivationsAreThoseOfThePaper) {
  for_all_interleaved([](const Schedule& schedule) {
    const int p = schedule.stages, v = schedule.chunks, m = schedule.microbatches;
    if (m < p) return;
    EXPECT_EQ(bubble(simulate(schedule)), (p - 1.0) / (v * m)) << "section 2.2.2";
    const int group = p + m % p;  // section 2.2.2 has m a multiple of p: the group is p
    for (int r = 0; r < p; ++r)
      EXPECT_EQ(peak_activations(schedule)[r], std::min(m * v, (v - 1) * group + 2 * (p - r - 1) + 1)) << "stage " << r;
  });
}

/// Replays groups and actions with buffers i mod n: a buffer that is taken while it is held is a fault.
bool buffers_suffice(const Schedule& schedule, const Messages& messages, int stage, const std::vector<int>& buffers) {
  std::set<std::pair<int, int>> held;  // chunk, buffer
  const auto& actions = schedule.actions[stage];
  for (std::size_t k = 0; k < actions.size(); ++k) {
    const auto take = [&](int chunk, int microbatch) { return held.insert({chunk, microbatch % buffers[chunk]}).second; };
    bool received = false;
    for (std::size_t g = 0; g <= k; ++g)
      for (const Transfer& t : messages.before[stage][g])
        if (!t.is_send && messages.channels[t.channel].payload == Payload::activation) {
          if (g == k && !take(t.chunk, t.microbatch)) return false;
          received |= t.chunk == actions[k].chunk && t.microbatch == actions[k].microbatch;
        }
    if (actions[k].act == Act::forward && !received && !take(actions[k].chunk, actions[k].microbatch)) return false;
    if (actions[k].act == Act::backward) held.erase({actions[k].chunk, actions[k].microbatch % buffers[actions[k].chunk]});
  }
  return true;
}

TEST(Buffers, AreEnoughAndNoneIsIdle) {
  const auto check = [](const Schedule& schedule) {
    const Messages messages = derive_messages(schedule);
    for (int stage = 0; stage < schedule.stages; ++stage) {
      std::vector<int> buffers = buffers_needed(schedule, messages, stage);
      EXPECT_TRUE(buffers_suffice(schedule, messages, stage, buffers)) << "stage " << stage;
      for (int& n : buffers)
        if (--n > 0) {
          EXPECT_FALSE(buffers_suffice(schedule, messages, stage, buffers)) << "stage " << stage;
          ++n;
        }
    }
  };
  for (const int m : {1, 2, 5, 8})
    for (const int p : {1, 2, 3, 4}) {
      check(make_schedule(Kind::gpipe, p, 1, m));
      check(make_schedule(Kind::one_f_one_b, p, 1, m));
      if (p > 1) check(make_schedule(Kind::interleaved, p, 2, m));
      if (p > 1) check(make_schedule(Kind::interleaved, p, 3, m));
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
  EXPECT_EQ(bubble(simulate(schedule)), 0);
}

TEST(Timing, UnequalDependenciesByHand) {
  // p = 2, m = 1, F = 1, B = 2: 0-1 forward, 1-2 forward on stage 1, 2-4 backward, 4-6 backward on stage 0.
  const Timing timing = simulate(make_schedule(Kind::one_f_one_b, 2, 1, 1));
  EXPECT_EQ(timing.spans[1][0].begin, 1);
  EXPECT_EQ(timing.spans[1][1].end, 4);
  EXPECT_EQ(timing.spans[0][1].begin, 4);
  EXPECT_EQ(timing.seconds, 6);
}

TEST(Timing, UnequalStagesByHand) {
  // p = 2, m = 2. Stage 0, F0 F1 B0 B1 step: F = 1, B = 2, step 1; stage 1, F0 B0 F1 B1 step: F = 3, B = 5, B1 = 6, step 4.
  const Costs costs = {.seconds = [](int stage, const Action& action) {
    const bool last = action.microbatch == 1;
    switch (action.act) {
      case Act::forward:
        return stage == 0 ? 1.0 : 3.0;
      case Act::backward:
        return stage == 0 ? 2.0 : last ? 6.0 : 5.0;
      case Act::optimizer_step:
        return stage == 0 ? 1.0 : 4.0;
    }
    return 0.0;
  }};
  const Timing timing = simulate(make_schedule(Kind::one_f_one_b, 2, 1, 2), costs);
  const std::vector<std::vector<double>> begins = {{0, 1, 9, 18, 20}, {1, 4, 9, 12, 18}};
  const std::vector<std::vector<double>> ends = {{1, 2, 11, 20, 21}, {4, 9, 12, 18, 22}};
  for (std::size_t stage = 0; stage < 2; ++stage)
    for (std::size_t k = 0; k < 5; ++k) {
      EXPECT_EQ(timing.spans[stage][k].begin, begins[stage][k]) << "stage " << stage << " action " << k;
      EXPECT_EQ(timing.spans[stage][k].end, ends[stage][k]) << "stage " << stage << " action " << k;
    }
  EXPECT_EQ(timing.seconds, 22);
  EXPECT_EQ(bubble(timing), 22 / 14.0 - 1) << "7 and 21 seconds of work";
}

TEST(Timing, LatencyOnOneChannelByHand) {
  // p = 2, m = 2, F = 1, B = 2; a gradient takes 3 from stage 1 to stage 0. Stage 1 is not kept: F0 1-2, B0 2-4, F1 4-5, B1 5-7.
  const Channel slow = {1, 0, Payload::gradient};
  const Timing timing = simulate(make_schedule(Kind::one_f_one_b, 2, 1, 2),
                                 {.latency = [&](const Channel& channel) { return channel == slow ? 3.0 : 0.0; }});
  EXPECT_EQ(timing.spans[1][3].end, 7);
  EXPECT_EQ(timing.spans[0][2].begin, 7) << "B0 of stage 0: 4 + 3";
  EXPECT_EQ(timing.spans[0][3].begin, 10) << "B1 of stage 0: 7 + 3";
  EXPECT_EQ(timing.seconds, 12);
  EXPECT_EQ(bubble(timing), 1);
}

TEST(Timing, LatencyIsAskedOfTheChannelsThatMessagesUse) {
  // Chunks that hand over inside a stage's memory wait for nothing: p = 1 has no channel.
  for (const Schedule& schedule : {two_chunks(1, 3), two_chunks(2, 2), make_schedule(Kind::interleaved, 3, 2, 4)}) {
    std::set<Channel> asked;
    simulate(schedule, {.latency = [&](const Channel& channel) {
               asked.insert(channel);
               return 1.0;
             }});
    const std::vector<Channel> used = derive_messages(schedule).channels;
    EXPECT_EQ(asked, std::set<Channel>(used.begin(), used.end()));
  }
}

TEST(Timing, AScheduleThatNeverEndsIsFound) {
  Schedule schedule = make_schedule(Kind::one_f_one_b, 2, 1, 2);
  std::swap(schedule.actions[1][0], schedule.actions[1][1]);
  EXPECT_THROW(simulate(schedule), base::Error);
}

}  // namespace
