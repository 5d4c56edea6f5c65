// The sums, the events and the present state that one activity leaves. Oracle: the clock around it, and the order of the calls.
#include "grid/activity.h"

#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "base/clock.h"

namespace trireme::test {
namespace {

using grid::Activity;
using grid::kind_of;
using grid::Traffic;
using grid::Work;

void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

TEST(Activity, WhatIsNestedIsNotCountedTwice) {
  Activity activity;
  const double begin = base::now();
  {
    const Activity::Scope forward(activity, Work::forward);
    sleep(0.01);
    activity.begin(kind_of(Traffic::tp_all_reduce));
    sleep(0.02);
    activity.end();
  }
  const double all = base::now() - begin;
  EXPECT_GE(activity.seconds(Work::forward), 0.01);
  EXPECT_GE(activity.seconds(Traffic::tp_all_reduce), 0.02);
  EXPECT_LE(activity.seconds(Work::forward) + activity.seconds(Traffic::tp_all_reduce), all);
  EXPECT_EQ(activity.count(Work::forward), 1);
}

TEST(Activity, EventsComeInTheOrderOfTheirEndsAndNoMoreThanThereIsRoom) {
  Activity activity;
  std::vector<grid::Event> events;
  events.reserve(2);
  activity.record(&events);
  activity.begin(kind_of(Work::forward), {.microbatch = 3, .chunk = 1});
  activity.begin(kind_of(Traffic::pp_activation), {.peer = 5}, 64);
  activity.end();
  activity.end();
  activity.begin(kind_of(Work::data));
  activity.end();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(activity.missed(), 1);
  EXPECT_EQ(events[0].kind, kind_of(Traffic::pp_activation));
  EXPECT_EQ(events[0].subject.peer, 5);
  EXPECT_EQ(events[0].bytes, 64);
  EXPECT_EQ(events[1].kind, kind_of(Work::forward));
  EXPECT_EQ(events[1].subject.microbatch, 3);
  EXPECT_LE(events[1].begin, events[0].begin);
  EXPECT_LE(events[0].end, events[1].end);
}

/// A device that is at a moment of its own whenever the host asks it to remember one.
class LateDevice final : public kernels::Device {
 public:
  struct Moment final : kernels::Event {
    explicit Moment(const double& now) : clock(now) {}
    void record() override { at = clock; }
    bool done() const override { return true; }
    double seconds_since(const kernels::Event& earlier) const override { return at - static_cast<const Moment&>(earlier).at; }
    const double& clock;
    double at = -1;
  };
  double now = 1000;  // seconds

  void* allocate(std::int64_t) override { return nullptr; }
  void release(void*, std::int64_t) noexcept override {}
  void* allocate_pinned(std::int64_t) override { return nullptr; }
  void release_pinned(void*, std::int64_t) noexcept override {}
  bool is_host() const override { return false; }
  void zero(kernels::View) override {}
  void copy(kernels::View, kernels::View) override {}
  void upload(kernels::View, const void*) override {}
  void upload_later(kernels::View, const void*) override {}
  void download(void*, kernels::View) override {}
  void download_later(void*, kernels::View) override {}
  void synchronize() override {}
  std::unique_ptr<kernels::Event> make_event() override { return std::make_unique<Moment>(now); }
  void order_after(const kernels::Event&) override {}
  std::string name() const override { return "late"; }
};

TEST(Activity, WorkOfAnAsynchronousDeviceHasTheDevicesTimes) {
  LateDevice device;
  Activity activity;
  grid::DeviceTimes times(device, 4);
  std::vector<grid::Event> events;
  events.reserve(8);
  times.begin();
  const double begin = base::now();
  activity.record(&events, times);
  for (const Work work : {Work::forward, Work::data, Work::backward, Work::optimizer_step}) {
    activity.begin(kind_of(work));
    device.now += 10;
    activity.end();
    device.now += 1;
  }
  take_device_times(events, times);
  ASSERT_EQ(events.size(), 4u);
  constexpr double tolerance = 0.5;  // seconds between begin() here and there
  EXPECT_NEAR(events[0].begin - begin, 0, tolerance);
  EXPECT_NEAR(events[0].end - begin, 10, tolerance);
  EXPECT_NEAR(events[1].end - begin, 0, tolerance) << "the host's own";
  EXPECT_NEAR(events[2].begin - begin, 22, tolerance);
  EXPECT_NEAR(events[2].end - begin, 32, tolerance);
  EXPECT_NEAR(events[3].begin - begin, 0, tolerance) << "no event was left: the host's times";
  activity.record(nullptr);
}

TEST(Activity, ThePresentStateIsTheInnermostActivity) {
  Activity activity;
  grid::Doing doing;
  activity.publish_in(&doing);
  EXPECT_EQ(doing.kind, -1);
  activity.set_step(7);
  activity.begin(kind_of(Work::backward), {.microbatch = 2, .chunk = 0});
  const std::int64_t before = doing.changes;
  activity.begin(kind_of(Traffic::pp_gradient), {.peer = 4});
  EXPECT_EQ(doing.kind, kind_of(Traffic::pp_gradient));
  EXPECT_EQ(doing.peer, 4);
  EXPECT_GT(doing.changes, before);
  activity.end();
  EXPECT_EQ(doing.kind, kind_of(Work::backward));
  EXPECT_EQ(doing.microbatch, 2);
  EXPECT_EQ(doing.peer, -1);
  activity.end();
  EXPECT_EQ(doing.kind, -1);
  EXPECT_EQ(doing.step, 7);
  const std::int64_t last = doing.changes;
  activity.alive();
  EXPECT_GT(doing.changes, last);
  activity.publish_in(nullptr);
  const std::int64_t left = doing.changes;
  activity.alive();
  EXPECT_EQ(doing.changes, left) << "the place may be gone";
}

TEST(Activity, AnEndWithoutABeginIsAFault) {
  Activity activity;
  EXPECT_THROW(activity.end(), std::logic_error);
  for (int k = 0; k < 7; ++k) activity.begin(kind_of(Work::data));
  EXPECT_THROW(activity.begin(kind_of(Work::data)), std::logic_error);
}

}  // namespace
}  // namespace trireme::test
