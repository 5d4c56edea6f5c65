// What a crash leaves in the file `status`, written by the signal's handler, which may do next to nothing.
#pragma once

#include <string>

namespace trireme::run {

/// While it lives, a crash of this process (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) writes `1 WHO: crashed, signal NAME` over
/// the file, which must be there, and then ends the process as it would have. A signal that somebody else handles (a sanitizer,
/// UCX where it was asked to) is left to that. One at a time.
class CrashNote {
 public:
  CrashNote(const std::string& file, const std::string& who);
  ~CrashNote();
  CrashNote(const CrashNote&) = delete;
  CrashNote& operator=(const CrashNote&) = delete;
};

}  // namespace trireme::run
