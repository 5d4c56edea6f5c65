// The program under test on a file system that fails: see file_faults.cpp.
#pragma once

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "validation/unit/support/process.h"

namespace trireme::test {

struct Faults {
  std::string calls;    // "symlink=95,flock=38"
  std::string under;    // text that the paths hold
  int at = 0;           // 0: every such call
  std::string told{};   // a file that is there when a call failed
  long clock_rate = 1;  // how fast time passes
};

inline std::string fault_library() { return (program().parent_path() / "test/file_faults.so").string(); }

/// `words`, a command of the program or of a launcher, with the faults around the program alone.
inline std::vector<std::string> with_faults(std::vector<std::string> words, const Faults& faults) {
  const std::string library = fault_library();
  std::vector<std::string> before = {"env", "LD_PRELOAD=" + library, "ASAN_OPTIONS=verify_asan_link_order=0",
                                     "FILE_FAULT=" + faults.calls, "FILE_FAULT_UNDER=" + faults.under};
  if (faults.at > 0) before.push_back("FILE_FAULT_AT=" + std::to_string(faults.at));
  if (faults.clock_rate > 1) before.push_back("CLOCK_RATE=" + std::to_string(faults.clock_rate));
  if (!faults.told.empty()) before.push_back("FILE_FAULT_TOLD=" + faults.told);
  words.insert(std::find(words.begin(), words.end(), program().string()), before.begin(), before.end());
  return words;
}

/// A crash at a change of the disk.
constexpr const char* killed = "change=0";

inline std::string fails_with(const std::string& call, int error) { return call + "=" + std::to_string(error); }

}  // namespace trireme::test
