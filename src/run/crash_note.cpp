#include "run/crash_note.h"

#include <array>
#include <csignal>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"

namespace trireme::run {
namespace {

struct Crash {
  int number;
  const char* name;
};
constexpr std::array<Crash, 5> crashes = {
    {{SIGSEGV, "SEGV"}, {SIGBUS, "BUS"}, {SIGFPE, "FPE"}, {SIGILL, "ILL"}, {SIGABRT, "ABRT"}}};

// Made before a crash: the handler may not allocate.
std::string path;
std::array<std::string, crashes.size()> notes;

/// Calls only what POSIX allows in a handler. The system's own action is restored by then (SA_RESETHAND).
void write_note(int number) {
  for (std::size_t k = 0; k < crashes.size(); ++k) {
    if (crashes[k].number != number) continue;
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    const auto size = static_cast<off_t>(notes[k].size());
    if (file >= 0 && ::pwrite(file, notes[k].data(), notes[k].size(), 0) == size && ::ftruncate(file, size) == 0) ::close(file);
  }
  ::raise(number);
}

/// `from` becomes `to` where it is the signal's action.
void replace_handler(int number, void (*from)(int), void (*to)(int)) {
  struct sigaction action = {};
  sigaction(number, nullptr, &action);
  if ((action.sa_flags & SA_SIGINFO) || action.sa_handler != from) return;
  action.sa_handler = to;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_NODEFER;
  sigaction(number, &action, nullptr);
}

}  // namespace

CrashNote::CrashNote(const std::string& file, const std::string& who) {
  path = file;
  for (std::size_t k = 0; k < crashes.size(); ++k) {
    notes[k] = fmt::format("{} {}: crashed, signal {}\n", static_cast<int>(base::Exit::failure), who, crashes[k].name);
    replace_handler(crashes[k].number, SIG_DFL, write_note);
  }
}

CrashNote::~CrashNote() {
  for (const Crash& crash : crashes) replace_handler(crash.number, write_note, SIG_DFL);
}

}  // namespace trireme::run
