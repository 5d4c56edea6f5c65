// Who is at fault when ranks fall silent: the watchdog's rule, a pure function of what is seen of each rank, and its words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grid/activity.h"
#include "grid/grid.h"

namespace trireme::grid {

/// What is known of one rank at one moment.
struct Seen {
  int rank = 0;
  double unheard = 0;    // seconds since its watchdog thread was last heard
  double unchanged = 0;  // seconds since its main thread began or ended anything
  bool starting = true;  // up to the end of its first step: is given three times the limit
  bool left = false;     // it has ended its run
  bool known = true;     // false: its node does not answer, and what follows says nothing
  std::int64_t step = -1;
  int kind = -1;  // of what it does; -1: between activities
  Subject subject;
};

/// How a rank is named to people; of every rank, by rank.
struct Identity {
  std::string host;
  int node = 0, node_rank = 0, process = 0;
};

struct Verdict {
  enum class Fault {
    stopped,  // neither of its threads runs: stopped, swapped out, or its machine is dead
    stuck,    // it runs, waits for nobody, and gets nowhere
    circle,   // the ranks wait for each other, each for the next, the last for the first
    lost,     // every rank waits, and no rank is missing where one waits: a message was lost
  };
  Fault fault;
  std::vector<int> ranks;  // at fault, the one to be named first; of `lost` the one that waits longest
};

bool overdue(const Seen& rank, double limit);

/// `all`: every rank, or those of one node, whatever their order. A rank that waits is never at fault by itself, however long:
/// who waits for one that goes on is fine, and so is one that tells from time to time that it is alive. Circles and lost messages
/// show only when every rank is there. Nothing: no fault yet.
std::optional<Verdict> judge(const std::vector<Seen>& all, double limit, const Shape& shape);

/// Rank, host, coordinates, step, what it does, what others wait for from it, and for how long.
std::string describe(const Verdict& verdict, const std::vector<Seen>& all, const std::vector<Identity>& names,
                     const Shape& shape);

}  // namespace trireme::grid
