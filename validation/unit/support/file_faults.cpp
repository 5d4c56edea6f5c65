// A library to preload into a program under test: calls on files fail as on a file system that cannot, a full disk, or a crash.
//   FILE_FAULT=CALL=ERRNO,...  the calls, by their words below, and how each fails; `change` is any that changes the disk; an
//   errno
//                              of 0 kills the process
//   FILE_FAULT_UNDER=TEXT      only on paths that hold this text
//   FILE_FAULT_AT=n            only the n-th such call of a process, counted from 1
//   FILE_FAULT_TOLD=FILE       gets a byte when a call fails
//   CLOCK_RATE=n               time passes n times as fast, for commands that tell how far they are
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define NEXT(call) static const auto next = reinterpret_cast<decltype(&::call)>(dlsym(RTLD_NEXT, #call))

namespace {

struct Call {
  const char* word;
  bool change = true;
};

/// The errno of `call`, or -1.
int chosen(const Call& call) {
  const char* const given = std::getenv("FILE_FAULT");
  std::string_view list = given ? given : "";
  while (!list.empty()) {
    const std::string_view entry = list.substr(0, list.find(','));
    const std::size_t sign = entry.find('=');
    const std::string_view word = entry.substr(0, sign);
    if (word == call.word || (call.change && word == "change")) return std::atoi(std::string(entry.substr(sign + 1)).c_str());
    list.remove_prefix(std::min(entry.size() + 1, list.size()));
  }
  return -1;
}

void tell() {
  const char* const file = std::getenv("FILE_FAULT_TOLD");
  if (!file) return;
  const int told = ::open(file, O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (told < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(told, "x", 1);
  ::close(told);
}

bool fails(const Call& call, const char* path) {
  static std::atomic<long> count = 0;
  const char *const under = std::getenv("FILE_FAULT_UNDER"), *const at = std::getenv("FILE_FAULT_AT");
  const int error = under && path && std::strstr(path, under) ? chosen(call) : -1;
  if (error < 0 || (at && ++count != std::atol(at))) return false;
  tell();
  if (error == 0) ::kill(::getpid(), SIGKILL);
  errno = error;
  return true;
}

bool fails(const Call& call, int file) {
  if (!std::getenv("FILE_FAULT")) return false;
  char path[4096] = {};
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  return ::readlink(link.c_str(), path, sizeof path - 1) > 0 && fails(call, path);
}

bool changes(int flags) { return (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) != 0; }

mode_t mode_of(int flags, va_list list) { return flags & O_CREAT ? va_arg(list, mode_t) : 0; }

}  // namespace

extern "C" {

// What opens.
#define OPEN(name)                                                               \
  int name(const char* path, int flags, ...) {                                   \
    NEXT(name);                                                                  \
    va_list list;                                                                \
    va_start(list, flags);                                                       \
    const mode_t mode = mode_of(flags, list);                                    \
    va_end(list);                                                                \
    return fails({"open", changes(flags)}, path) ? -1 : next(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)
#undef OPEN
FILE* fopen(const char* path, const char* mode) {
  NEXT(fopen);
  return fails({"open", std::strpbrk(mode, "wa+") != nullptr}, path) ? nullptr : next(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  NEXT(fopen64);
  return fails({"open", std::strpbrk(mode, "wa+") != nullptr}, path) ? nullptr : next(path, mode);
}

int clock_gettime(clockid_t clock, timespec* time) {
  NEXT(clock_gettime);
  const int result = next(clock, time);
  const char* const rate = std::getenv("CLOCK_RATE");
  if (!rate || clock != CLOCK_MONOTONIC) return result;
  constexpr long second = 1'000'000'000;
  static const timespec first = *time;
  const long passed = ((time->tv_sec - first.tv_sec) * second + time->tv_nsec - first.tv_nsec) * std::atol(rate);
  *time = {first.tv_sec + passed / second, passed % second};
  return result;
}

// What takes an open file.
ssize_t write(int file, const void* bytes, size_t count) {
  NEXT(write);
  return fails({"write"}, file) ? -1 : next(file, bytes, count);
}
ssize_t writev(int file, const iovec* pieces, int count) {
  NEXT(writev);
  return fails({"write"}, file) ? -1 : next(file, pieces, count);
}
ssize_t pwrite(int file, const void* bytes, size_t count, off_t at) {
  NEXT(pwrite);
  return fails({"write"}, file) ? -1 : next(file, bytes, count, at);
}
ssize_t pwrite64(int file, const void* bytes, size_t count, off64_t at) {
  NEXT(pwrite64);
  return fails({"write"}, file) ? -1 : next(file, bytes, count, at);
}
int ftruncate(int file, off_t size) {
  NEXT(ftruncate);
  return fails({"truncate"}, file) ? -1 : next(file, size);
}
int ftruncate64(int file, off64_t size) {
  NEXT(ftruncate64);
  return fails({"truncate"}, file) ? -1 : next(file, size);
}
int fsync(int file) {
  NEXT(fsync);
  return fails({"sync"}, file) ? -1 : next(file);
}
int close(int file) {
  NEXT(close);
  const bool failed = fails({"close", false}, file);
  const int result = next(file);
  if (failed) errno = chosen({"close", false});
  return failed ? -1 : result;
}
int flock(int file, int operation) {
  NEXT(flock);
  return fails({"flock", false}, file) ? -1 : next(file, operation);
}
#define FCNTL(name)                                                                     \
  int name(int file, int command, ...) {                                                \
    NEXT(name);                                                                         \
    va_list list;                                                                       \
    va_start(list, command);                                                            \
    void* const argument = va_arg(list, void*);                                         \
    va_end(list);                                                                       \
    const bool locks = command == F_OFD_SETLK || command == F_SETLK;                    \
    return locks && fails({"fcntl", false}, file) ? -1 : next(file, command, argument); \
  }
FCNTL(fcntl)
FCNTL(fcntl64)
#undef FCNTL

// What takes names.
int rename(const char* from, const char* to) {
  NEXT(rename);
  return fails({"rename"}, from) ? -1 : next(from, to);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  NEXT(renameat2);
  return fails({"renameat2"}, from) ? -1 : next(from_folder, from, to_folder, to, flags);
}
int link(const char* from, const char* to) {
  NEXT(link);
  return fails({"link"}, to) ? -1 : next(from, to);
}
int symlink(const char* target, const char* name) {
  NEXT(symlink);
  return fails({"symlink"}, name) ? -1 : next(target, name);
}
int unlink(const char* path) {
  NEXT(unlink);
  return fails({"remove"}, path) ? -1 : next(path);
}
int remove(const char* path) {
  NEXT(remove);
  return fails({"remove"}, path) ? -1 : next(path);
}
int rmdir(const char* path) {
  NEXT(rmdir);
  return fails({"remove"}, path) ? -1 : next(path);
}
int unlinkat(int folder, const char* path, int flags) {
  NEXT(unlinkat);
  return fails({"remove"}, path) ? -1 : next(folder, path, flags);
}
int mkdir(const char* path, mode_t mode) {
  NEXT(mkdir);
  return fails({"mkdir"}, path) ? -1 : next(path, mode);
}
}
