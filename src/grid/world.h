// All ranks of the program, from MPI's start to its end, and what they agree on. Only the main thread may call these, but
// `abort`.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "grid/activity.h"
#include "grid/control.h"
#include "grid/progress.h"

namespace trireme::grid {

/// Thrown on every rank at once, after one of them has printed why: leave with `status`, by way of World's destructor.
struct Agreed {
  base::Exit status;
  std::string message;  // what was printed, on the rank that printed it; elsewhere empty
};

/// While it lives, what makes one rank end all others (World::abort, a failed MPI call, an exception that nothing caught) is
/// first given to `write`, with its exit status. One at a time; `write` is called by any thread and must not throw.
class LastWords {
 public:
  using Write = std::function<void(base::Exit, const std::string&)>;
  explicit LastWords(Write write);
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

 private:
  std::terminate_handler terminate_;  // before
};

/// A launcher that does not speak this MPI's language starts N programs that each believe to be alone. Returns what to tell the
/// user, or nothing when `size` is what the launcher's variables say. `variable` reads the environment: null if unset.
std::optional<std::string> launcher_mismatch(int size, const std::function<const char*(const char*)>& variable);

class World {
 public:
  /// Starts MPI with MPI_THREAD_MULTIPLE. Throws Agreed when the library gives less or the launcher started separate worlds.
  World();
  /// Finalizes MPI: all ranks must get here, so errors after the start are agreed, or end in abort().
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const { return everyone_.rank(); }
  int size() const { return everyone_.size(); }
  const std::string& host() const { return host_; }
  /// The node's number: the lowest rank on it. Host names need not be unique in containers.
  int node() const { return node_number_; }
  int node_rank() const { return node_.rank(); }
  int node_size() const { return node_.size(); }

  /// All ranks, in order; and those that share this rank's memory.
  Control& everyone() { return everyone_; }
  Control& node_group() { return node_; }
  Progress& progress() { return progress_; }
  /// What this rank does and waits for.
  Activity& activity() { return activity_; }
  /// Counts of all communicators of this rank.
  const TrafficTable& traffic() const { return activity_.traffic(); }

  /// Every rank: runs `work`; if it threw anywhere, the lowest rank where it did prints its message to standard error, and every
  /// rank throws the same Agreed. `work` must not communicate after it may have failed on some ranks only.
  void agree(const std::function<void()>& work);
  /// Every rank, after agree() threw `end`: what was printed, on rank 0; nothing elsewhere.
  std::string said(const Agreed& end);

  /// Any rank and thread, alone: prints the message with rank and host, tells it the LastWords, and ends all ranks with `status`.
  [[noreturn]] void abort(base::Exit status, const std::string& message) const;

 private:
  /// First member, so that MPI ends last.
  struct Session {
    Session();
    ~Session();
  } session_;
  std::string host_;
  int node_number_ = 0;
  Progress progress_;
  Activity activity_;
  std::unique_ptr<MpiCommunicator> all_ranks_, node_ranks_;
  Control everyone_, node_;
};

}  // namespace trireme::grid
