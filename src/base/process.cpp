#include "base/process.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <system_error>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

namespace trireme::base {

void set_up_process() {
  for (int stream = 0; stream <= 2; ++stream)
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", O_RDONLY);  // takes the lowest free number; a write to it fails
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  if (std::getenv("UCX_HANDLE_ERRORS") || std::getenv("UCX_ERROR_SIGNALS")) return;
  // The handlers are set when the library is loaded, before main could change the environment; this puts back what was before.
  if (auto* const disable = reinterpret_cast<void (*)()>(::dlsym(RTLD_DEFAULT, "ucs_debug_disable_signals"))) disable();
}

void finish_output() {
  const bool lost = std::ferror(stdout) != 0;
  if (std::fclose(stdout) != 0) fail("error: standard output: cannot write: {}", system_words(errno));
  if (lost) fail("error: standard output: cannot write; a part of what was printed is lost");
}

void print_error(const std::string& message) noexcept {
  std::fwrite(message.data(), 1, message.size(), stderr);
  std::fputc('\n', stderr);
  std::fflush(stderr);
}

void require_memory(std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  ::munmap(memory, bytes);
}

std::string words_of(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error))
    return "out of memory: the system refused more. Look at the limits of this process (ulimit -v, the job's memory) and at what "
           "else runs on this host";
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  if (system && system->code() == std::errc::resource_unavailable_try_again)
    return "the system refused another thread. Look at the limits of this process (ulimit -u, ulimit -v)";
  return error.what();
}

}  // namespace trireme::base
