// What a run leaves behind, as tests look at it; and killing its ranks.
#pragma once

#include <cctype>
#include <functional>

#include <gtest/gtest.h>

#include "validation/unit/support/process.h"

namespace trireme::test {

/// Column `index` of a CSV text, without its header.
inline std::vector<std::string> column(const std::string& csv, std::size_t index) {
  std::vector<std::string> values;
  std::istringstream lines(csv);
  std::string line;
  for (std::getline(lines, line); std::getline(lines, line);) {
    std::istringstream cells(line);
    std::string cell;
    for (std::size_t k = 0; k <= index; ++k) std::getline(cells, cell, ',');
    values.push_back(cell);
  }
  return values;
}

/// Process ids of the ranks of the run in `directory`.
inline std::vector<pid_t> ranks_of(const std::string& directory) {
  std::vector<pid_t> pids;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (!std::isdigit(static_cast<unsigned char>(name[0]))) continue;
    std::error_code gone;
    if (fs::read_symlink(entry.path() / "exe", gone) != program() || gone) continue;
    if (read_text(entry.path() / "cmdline").find(directory) != std::string::npos) pids.push_back(std::stoi(name));
  }
  return pids;
}

/// Waits until it is so; false after a minute.
inline bool within_a_minute(const std::function<bool()>& condition) {
  for (int k = 0; k < 12000; ++k) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

/// Waits until metrics.csv of the run has the row of `step`; false after a minute.
inline bool reaches(const std::string& directory, int step) {
  return within_a_minute([&] {
    const auto steps = column(read_text(directory + "/metrics.csv"), 0);
    return !steps.empty() && std::atoi(steps.back().c_str()) >= step;
  });
}

}  // namespace trireme::test
