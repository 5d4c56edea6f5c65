// The proofs must be able to fail. Oracle: schedules and messages broken on purpose, each in a known way.
#include "schedule/proofs.h"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace trireme::schedule;

std::string all_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  return text;
}

const Schedule healthy = make_schedule(Kind::one_f_one_b, 4, 1, 8);

/// What the proofs say of a damaged schedule whose messages are derived from it.
std::string after(const std::function<void(Schedule&)>& damage) {
  Schedule schedule = healthy;
  damage(schedule);
  return all_of(violations(schedule, derive_messages(schedule)));
}

/// What the proofs say of the healthy schedule with damaged messages.
std::string after_messages(const std::function<void(Messages&)>& damage) {
  Messages messages = derive_messages(healthy);
  damage(messages);
  return all_of(violations(healthy, messages));
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << "said only: " << (text)

TEST(Proofs, FindBrokenSchedules) {
  EXPECT_SAYS(after([](Schedule& s) { std::swap(s.actions[3][0], s.actions[3][1]); }), "backward before forward");
  EXPECT_SAYS(after([](Schedule& s) { std::swap(s.actions[0][13], s.actions[0][14]); }), "that of an earlier microbatch");
  EXPECT_SAYS(after([](Schedule& s) { std::swap(s.actions[1][0], s.actions[1][1]); }), "differ in number or order");
  EXPECT_SAYS(after([](Schedule& s) { s.actions[2].erase(s.actions[2].begin() + 4); }), "no backward pass");
  EXPECT_SAYS(after([](Schedule& s) { s.actions[2].erase(s.actions[2].begin()); }), "no forward pass");
  EXPECT_SAYS(after([](Schedule& s) { s.actions[2][0].microbatch = 1; }), "runs twice");
  EXPECT_SAYS(after([](Schedule& s) { s.actions[2][0].microbatch = 8; }), "does not exist");
  EXPECT_SAYS(after([](Schedule& s) { s.actions[2].pop_back(); }), "one optimizer step");
  EXPECT_SAYS(after([](Schedule& s) { std::swap(s.actions[2][15], s.actions[2][16]); }), "one optimizer step");
}

TEST(Proofs, FindAScheduleThatDeadlocks) {
  // Stage 0 asks for the first gradient before it has sent the second microbatch, stage 1 wants that first.
  EXPECT_SAYS(after([](Schedule& s) {
                s = make_schedule(Kind::one_f_one_b, 2, 1, 2);
                std::swap(s.actions[0][1], s.actions[0][2]);  // F0 B0 F1 B1
                std::swap(s.actions[1][1], s.actions[1][2]);  // F0 F1 B0 B1
              }),
              "deadlock: stage 0 in group 1 waits for stage 1, stage 1 in group 1 waits for stage 0");
}

/// The first transfer that is a send, or a receive, of a stage from group `from` on.
std::pair<int, int> find(const Messages& messages, int stage, bool is_send, int from = 0) {
  for (int group = from; group < std::ssize(messages.before[stage]); ++group)
    for (int i = 0; i < std::ssize(messages.before[stage][group]); ++i)
      if (messages.before[stage][group][i].is_send == is_send) return {group, i};
  throw std::logic_error("no such transfer");
}

/// Takes a transfer out and puts it into another group, or nowhere.
void move(Messages& messages, int stage, std::pair<int, int> place, int to) {
  auto& group = messages.before[stage][place.first];
  const Transfer transfer = group[place.second];
  group.erase(group.begin() + place.second);
  if (to >= 0) messages.before[stage][to].push_back(transfer);
}

TEST(Proofs, FindBrokenMessages) {
  const std::string dropped = after_messages([](Messages& m) { move(m, 1, find(m, 1, true), -1); });
  EXPECT_SAYS(dropped, "must be sent once");
  EXPECT_SAYS(dropped, "differ in number or order");
  EXPECT_SAYS(dropped, "deadlock");
  EXPECT_SAYS(after_messages([](Messages& m) { move(m, 1, find(m, 1, false), -1); }), "must be received once");
  EXPECT_SAYS(after_messages([](Messages& m) { move(m, 1, find(m, 1, true), 0); }), "sent before it is made");
  EXPECT_SAYS(after_messages([](Messages& m) { move(m, 1, find(m, 1, false), 1); }), "received after it is needed");
  EXPECT_SAYS(after_messages([](Messages& m) { m.before[0][1].push_back(m.before[0][1][0]); }), "must be sent once");
  EXPECT_SAYS(after_messages([](Messages& m) { m.before[0][1][0].channel = 5; }), "uses the channel");
  EXPECT_SAYS(after_messages([](Messages& m) { m.before[0].pop_back(); }), "a group before each action");
  EXPECT_SAYS(after_messages([](Messages& m) {
                for (const bool is_send : {true, false}) {  // both halves of the first microbatch, made the second's
                  const auto [group, i] = find(m, is_send ? 0 : 1, is_send);
                  m.before[is_send ? 0 : 1][group][i].microbatch = 7;
                }
              }),
              "microbatch 0, model chunk 0 -> 1 (stage 0 -> 1): must be sent once");
  EXPECT_SAYS(after_messages([](Messages& m) {  // the pair of both halves dropped: channels agree, nothing arrives
                move(m, 0, find(m, 0, true), -1);
                move(m, 1, find(m, 1, false), -1);
              }),
              "must be received once");
}

/// Every transfer in a group of its own, sends or receives first: what posting without groups does.
Messages ungrouped(Messages messages, bool sends_first) {
  for (auto& groups : messages.before) {
    std::vector<std::vector<Transfer>> single;
    for (auto group : groups) {
      std::stable_sort(group.begin(), group.end(), [&](const Transfer& a, const Transfer& b) {
        return (a.is_send == sends_first) > (b.is_send == sends_first);
      });
      for (const Transfer& transfer : group) single.push_back({transfer});
    }
    groups = single;
  }
  return messages;
}

TEST(Proofs, SendsAndReceivesWithoutGroupsDeadlock) {
  for (int p = 2; p <= 8; ++p)
    for (int m = 2; m <= 32; ++m) {
      const Messages messages = derive_messages(make_schedule(Kind::one_f_one_b, p, 1, m));
      EXPECT_EQ(deadlock(messages), "");
      EXPECT_NE(deadlock(ungrouped(messages, true)), "") << "p = " << p << " m = " << m;
      EXPECT_NE(deadlock(ungrouped(messages, false)), "") << "p = " << p << " m = " << m;
    }
}

}  // namespace
