// What lies in a folder, so that a test can ask whether anything changed.
#pragma once

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>
#include <sys/stat.h>

#include "validation/unit/support/process.h"

namespace trireme::test {

/// Path in the folder -> size, hash and time of the last change, of every file and link; nothing when there is no folder.
inline std::map<std::string, std::string> state_of(const std::string& folder) {
  std::map<std::string, std::string> state;
  if (!fs::exists(folder)) return state;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    struct stat facts = {};
    lstat(entry.path().c_str(), &facts);
    const std::string content = entry.is_regular_file() ? read_text(entry.path()) : "";
    state[fs::relative(entry.path(), folder)] =
        entry.is_directory() ? "a folder"
                             : fmt::format("{} bytes {:x}, changed at {}.{:09}", content.size(),
                                           std::hash<std::string>()(content), facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
  }
  return state;
}

/// Names in the folder, in order.
inline std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace trireme::test
