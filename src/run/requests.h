// Whether a run goes on, saves, or saves and ends: signals, the job's time, and the files STOP and SAVE that a user makes in RUN.
// What one rank sees, all agree on, once a step.
#pragma once

#include <csignal>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "grid/world.h"

namespace trireme::run {

/// While it lives, SIGUSR1, SIGTERM, SIGINT and SIGHUP end nothing: the first that comes is remembered, those after it change
/// nothing. A SIGHUP that was ignored (nohup) stays so.
/// To be made before MPI starts, which may take minutes and counts in the job's time. One at a time.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// The number of the first signal that came; 0: none yet.
  int received() const;
  /// base::now() when this was made.
  double begin() const { return begin_; }

 private:
  double begin_;
  std::vector<struct sigaction> before_;
};

/// Every rank: whether RUN/STOP is there, so that a run must not start; says so.
bool stops_at_start(grid::World& world, const std::string& directory);

/// By rising weight.
enum class Request {
  none,              // the run goes on
  save,              // RUN/SAVE, which is removed; then the run goes on
  save_and_requeue,  // a signal, or the end of the job's time: exit status 85
  save_and_end,      // RUN/STOP: exit status 0
};

class Requests {
 public:
  /// `directory`: RUN. `time_limit` in seconds since signals.begin(); 0: none.
  Requests(grid::World& world, const Signals& signals, std::string directory, double time_limit);

  /// Every rank, before the first step, after each, and before an evaluation; all return the same. One all-reduce, in which the
  /// elements of `also` become the largest of all ranks' (equally many on all). What was asked for once stays until it is
  /// honoured, so that nothing is lost between two places that look.
  Request next(std::span<std::int64_t> also = {});
  /// Every rank: the save that was asked for has begun, and the run goes on.
  void honoured() { request_ = Request::none; }
  /// Why the last request was made, the same on all ranks: "signal USR1, received by rank 3".
  const std::string& reason() const { return reason_; }

  /// A save takes so long from its beginning to its end; the largest counts.
  void expect_save(double seconds);
  /// This rank waited so long for a save since the last next(), which is not the step's time; counts as a save too.
  void save_took(double seconds);
  /// What must be left of the job's time for another step: 2 saves, 2 of the slowest steps, and 5 % of the limit, 60 s at most.
  double margin() const;

 private:
  void ask(Request request, const std::string& reason);
  void decide(std::span<const std::int64_t> agreed);

  grid::World& world_;
  const Signals& signals_;
  std::string directory_;
  double time_limit_;
  double last_end_ = -1;                                     // of next(); -1: never called
  double last_look_ = -1;                                    // at the files
  double slowest_step_ = 0, slowest_save_ = 0, saving_ = 0;  // saving_: since the last next()
  std::vector<std::int64_t> message_;
  Request request_ = Request::none;
  std::string reason_;
};

}  // namespace trireme::run
