// Folders that a command makes for what may then fail: none of them is left behind without content.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace trireme::base {

/// Folders that were not there before. Those that are still empty at the end go again, unless they are to stay.
class NewFolders {
 public:
  /// Makes `path`, and folders above it as needed; none of an empty path. An Error of `refused` names the one that cannot be
  /// made.
  explicit NewFolders(const std::string& path, Exit refused = Exit::bad_input);
  ~NewFolders();
  NewFolders(const NewFolders&) = delete;
  NewFolders& operator=(const NewFolders&) = delete;
  void keep() { made_.clear(); }

 private:
  void remove() noexcept;

  std::vector<std::string> made_;  // the innermost last
};

}  // namespace trireme::base
