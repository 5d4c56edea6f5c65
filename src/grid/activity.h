// What a rank does and what it waits for: said once, where it happens, and read by three: the sums of summary.json, the trace of
// chosen steps, the watchdog.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "grid/device_times.h"
#include "grid/traffic.h"

namespace trireme::grid {

/// What a rank does itself. What it waits for is a Traffic.
enum class Work { forward, backward, optimizer_step, data, evaluation, output, checkpoint };
inline constexpr std::array<std::string_view, 7> work_names = {"forward",    "backward", "optimizer_step", "data",
                                                               "evaluation", "output",   "checkpoint"};

/// Both in one numbering: work_names, then traffic_names.
inline constexpr int activity_kinds = static_cast<int>(work_names.size() + traffic_names.size());
constexpr int kind_of(Work work) { return static_cast<int>(work); }
constexpr int kind_of(Traffic traffic) { return static_cast<int>(work_names.size()) + static_cast<int>(traffic); }
/// What a device does, while the host may go on; all else is the host's own.
constexpr bool is_device_work(int kind) {
  return kind == kind_of(Work::forward) || kind == kind_of(Work::backward) || kind == kind_of(Work::optimizer_step) ||
         kind == kind_of(Work::evaluation);
}
constexpr bool is_wait(int kind) { return kind >= static_cast<int>(work_names.size()); }
constexpr std::string_view name_of_kind(int kind) {
  return is_wait(kind) ? traffic_names[static_cast<std::size_t>(kind) - work_names.size()]
                       : work_names[static_cast<std::size_t>(kind)];
}

/// What an activity is about; -1 where there is no such thing.
struct Subject {
  std::int32_t microbatch = -1, chunk = -1;
  std::int32_t peer = -1;  // world rank at the other end of a transfer
};

struct Event {
  double begin = 0, end = 0;  // base::now()
  std::int32_t kind = 0;
  Subject subject;
  std::int64_t bytes = 0;                       // of what was waited for
  std::int32_t begin_mark = -1, end_mark = -1;  // of DeviceTimes, until take_device_times()
};

/// Gives events that have marks the device's times. The device has done its work.
void take_device_times(std::vector<Event>& events, const DeviceTimes& times);

/// The present state, to be read by another thread or, in shared memory, by another process.
struct Doing {
  std::atomic<std::int64_t> changes{0};  // grows whenever anything below does
  std::atomic<std::int64_t> step{-1};
  std::atomic<std::int32_t> kind{-1};  // -1: between activities
  std::atomic<std::int32_t> microbatch{-1}, chunk{-1}, peer{-1};
};

/// Of one rank; its main thread alone calls the members.
class Activity {
 public:
  Activity() : doing_(&own_) {}
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  /// Activities nest: a wait lies inside the work that waits. end() ends the one begun last.
  void begin(int kind, const Subject& subject = {}, std::int64_t bytes = 0);
  void end();

  class Scope {
   public:
    Scope(Activity& activity, Work work, const Subject& subject = {}) : activity_(activity) {
      activity_.begin(kind_of(work), subject);
    }
    ~Scope() { activity_.end(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Activity& activity_;
  };

  /// Seconds spent so far, without those of what was nested inside; number of activities ended.
  double seconds(int kind) const { return seconds_[static_cast<std::size_t>(kind)]; }
  double seconds(Work work) const { return seconds(kind_of(work)); }
  double seconds(Traffic traffic) const { return seconds(kind_of(traffic)); }
  std::int64_t count(Work work) const { return counts_[static_cast<std::size_t>(work)]; }
  /// Calls and bytes of communication.
  TrafficTable& traffic() { return traffic_; }
  const TrafficTable& traffic() const { return traffic_; }

  /// Events that end from here on go to `events`, in the order of their ends, as many as its capacity holds (nothing is
  /// allocated); null: nowhere.
  void record(std::vector<Event>* events) {
    events_ = events;
    times_ = nullptr;
    if (events) missed_ = 0;
  }
  /// The same where the device works while the host goes on: marks of `times` stand where its work begins and ends.
  void record(std::vector<Event>* events, DeviceTimes& times) {
    record(events);
    times_ = &times;
  }
  /// Events for which the capacity of the last `events` was too small.
  std::int64_t missed() const { return missed_; }

  void set_step(std::int64_t step);
  /// In the midst of something that takes long and goes on: the watchdog takes silence for a fault. Any thread.
  void alive() { doing_.load()->changes.fetch_add(1, std::memory_order_release); }
  /// From here on the present state is kept in `place`, which outlives this or the next call; null: in this object again.
  void publish_in(Doing* place);

 private:
  struct Frame {
    int kind = -1;
    Subject subject;
    std::int64_t bytes = 0;
    double begin = 0, inner = 0;  // inner: seconds of what was nested inside
    std::int32_t begin_mark = -1;
  };
  void show(const Frame& frame);

  static constexpr std::size_t deepest = 8;
  std::array<Frame, deepest> frames_;  // [depth_]; frame 0 is "between activities"
  std::size_t depth_ = 1;
  std::array<double, activity_kinds> seconds_{};
  std::array<std::int64_t, activity_kinds> counts_{};
  TrafficTable traffic_;
  std::int32_t mark(int kind) { return times_ && is_device_work(kind) ? times_->mark() : -1; }

  std::vector<Event>* events_ = nullptr;
  DeviceTimes* times_ = nullptr;
  std::int64_t missed_ = 0;
  Doing own_;
  std::atomic<Doing*> doing_;
};

}  // namespace trireme::grid
