// How nodes tell each other what their ranks do when ranks fall silent: by files in RUN/watchdog, since a silent rank may be why
// no message gets through. A node that suspects asks by a file; the others answer by one each. No file is touched by a run that
// is well, but that the folder is looked at from time to time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "grid/silence.h"

namespace trireme::grid {

/// The rows of one node as text, a line a rank, and back. Refuses (base::Error) other text.
std::string rows_text(const std::vector<Seen>& rows);
std::vector<Seen> rows_of(const std::string& text);

/// Of one thread of a node; others of the node may take over at any time.
class NodeNotes {
 public:
  NodeNotes(std::string folder, int node);

  /// Some node asks, this one or another.
  bool asked() const;
  void ask() const;
  /// This node asks and answers no longer.
  void withdraw() const;
  /// A moment's state of this node's ranks; each call counts.
  void answer(const std::vector<Seen>& rows);
  /// What node `node` answered since the last call; nothing where there is no newer answer. A file half written, or none, is no
  /// answer.
  std::vector<Seen> newer_answer(int node);

 private:
  std::string file(const char* kind, int node) const;

  std::string folder_;
  int node_;
  std::int64_t answers_ = 0;
  std::map<int, std::string> last_;  // texts read
};

}  // namespace trireme::grid
