// Where a rank's time goes, by kind. Waiting for communication is counted by the communicators (grid/traffic.h) and taken out
// here.
#pragma once

#include <array>
#include <chrono>
#include <string_view>

#include "grid/traffic.h"

namespace trireme::train {

enum class Work { forward, backward, optimizer_step, data, evaluation, output };
inline constexpr std::array<std::string_view, 6> work_names = {"forward", "backward",   "optimizer_step",
                                                               "data",    "evaluation", "output"};

/// Seconds on a clock that never goes back.
inline double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class Timers {
 public:
  explicit Timers(const grid::TrafficTable& traffic) : traffic_(traffic) {}

  /// Adds the time from here to the end of the scope, without what it waited for communication. Scopes do not nest.
  class Scope {
   public:
    Scope(Timers& timers, Work work) : timers_(timers), work_(work), begin_(now()), waited_(timers.waited()) {}
    ~Scope() { timers_.add(work_, now() - begin_ - (timers_.waited() - waited_)); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Timers& timers_;
    Work work_;
    double begin_, waited_;
  };

  double seconds(Work work) const { return seconds_[static_cast<std::size_t>(work)]; }
  std::int64_t count(Work work) const { return counts_[static_cast<std::size_t>(work)]; }
  /// Seconds spent waiting for communication of all kinds.
  double waited() const {
    double sum = 0;
    for (const grid::TrafficCount& kind : traffic_.kinds) sum += kind.seconds;
    return sum;
  }

 private:
  void add(Work work, double seconds) {
    seconds_[static_cast<std::size_t>(work)] += seconds;
    ++counts_[static_cast<std::size_t>(work)];
  }

  const grid::TrafficTable& traffic_;
  std::array<double, work_names.size()> seconds_{};
  std::array<std::int64_t, work_names.size()> counts_{};
};

}  // namespace trireme::train
