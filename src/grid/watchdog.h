// Ends a run in which a rank stopped answering, and says which one. A thread on each rank watches what all ranks of its node do,
// in memory that they share; it makes no MPI call, for a silent rank is no partner in one.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "grid/node_notes.h"
#include "grid/shared_table.h"
#include "grid/silence.h"

namespace trireme::grid {

/// A rank is silent when it begins and ends no activity for `limit` seconds, three times that up to the end of its first step,
/// and does not call Activity::alive() either: whoever does something that may take longer calls it. Seconds count only while the
/// watching thread itself runs, so that a job suspended as a whole is not at fault when it goes on.
class Watchdog {
 public:
  struct Options {
    double limit = 0;    // seconds
    std::string folder;  // RUN/watchdog, made when there are several nodes
    /// Called on one rank, by its watchdog's thread, with what to tell; should end the run (World::abort).
    std::function<void(const std::string&)> end;
    double answer_seconds = 60;  // how long other nodes have to answer before they count as dead
  };
  /// Every rank. From here on world.activity() is kept where the other ranks see it.
  Watchdog(World& world, const Shape& shape, Options options);
  /// The same with other groups of ranks than the real nodes, numbered by `node`.
  Watchdog(World& world, const Shape& shape, Options options, Control group, int node);
  /// This rank alone: it has ended, the others may go on.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  /// What this thread saw last of a rank of its node.
  struct Watched {
    std::int64_t beat = 0, changes = 0, first_step = -1;
    Seen seen;
  };

  /// What another node answered last.
  struct Answer {
    std::vector<Seen> rows;  // unknown ones while there is none
    double age = 0;          // seconds since it was new
  };

  void watch();
  void observe(double elapsed);
  bool lowest_living() const;
  void examine(double elapsed);
  std::vector<Seen> rows_here() const;
  void ask_other_nodes();
  std::vector<Seen> everything() const;
  void read_answers(double elapsed);
  void report(const Verdict& verdict, const std::vector<Seen>& all);

  World& world_;
  Shape shape_;
  Options options_;
  int node_, member_;
  double period_;  // seconds between two looks
  SharedTable table_;
  std::vector<Identity> names_;      // by rank
  std::vector<Watched> here_;        // by member of this node
  std::map<int, Answer> elsewhere_;  // by node
  NodeNotes notes_;
  bool wrote_ = false;                      // files that are still there
  double suspicious_ = 0, since_look_ = 0;  // seconds
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace trireme::grid
