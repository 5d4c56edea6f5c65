#include "kernels/threads.h"

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include <omp.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

namespace trireme::kernels {
namespace {

/// So many threads at once, which do nothing. The OpenMP runtime would end the program where one cannot be started.
void start_threads(int count) {
  std::mutex mutex;
  std::condition_variable condition;
  bool all_started = false;
  std::vector<std::thread> threads;
  const auto end = [&] {
    {
      const std::lock_guard lock(mutex);
      all_started = true;
    }
    condition.notify_all();
    for (std::thread& thread : threads) thread.join();
  };
  try {
    for (int k = 0; k < count; ++k)
      threads.emplace_back([&] {
        std::unique_lock lock(mutex);
        condition.wait(lock, [&] { return all_started; });
      });
  } catch (...) {
    end();
    throw;
  }
  end();
}

#if defined(__linux__)
// What follows runs before the libraries start: OpenBLAS maps a buffer for every thread as it is loaded, and where it is refused
// one (by ulimit -v or -d) it tries again for ever. Nothing but system calls may be used here.

std::string_view value_of(char** environment, std::string_view name) {
  for (; *environment; ++environment) {
    const std::string_view entry = *environment;
    if (entry.starts_with(name) && entry.size() > name.size() && entry[name.size()] == '=') return entry.substr(name.size() + 1);
  }
  return {};
}

/// As the library counts: its own variable, then OpenMP's, at most the cores.
std::size_t threads_of_library(char** environment) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const std::size_t cores = sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<std::size_t>(CPU_COUNT(&set)) : 1;
  for (const std::string_view name : {"OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"}) {
    std::size_t threads = 0;
    for (const char c : value_of(environment, name)) {
      if (c < '0' || c > '9' || threads > cores) break;
      threads = 10 * threads + static_cast<std::size_t>(c - '0');
    }
    if (threads > 0) return threads < cores ? threads : cores;
  }
  return cores;
}

/// One process of a node speaks.
bool speaks(char** environment) {
  for (const std::string_view name : {"MPI_LOCALRANKID", "SLURM_LOCALID"})
    if (const std::string_view number = value_of(environment, name); !number.empty()) return number == "0";
  return true;
}

void look_for_memory_of_blas(int, char**, char** environment) {
  constexpr std::size_t buffer = std::size_t{128} << 20, rest = std::size_t{64} << 20;
  const std::size_t threads = threads_of_library(environment), wanted = threads * buffer + rest;
  void* const probe = mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probe != MAP_FAILED) {
    munmap(probe, wanted);
    return;
  }
  constexpr std::string_view message =
      "error: the limit on the memory of a process (ulimit -v, ulimit -d) is too small. The BLAS library maps 128 MiB for each\n"
      "thread when it is loaded. Raise the limit (ulimit -v unlimited)";
  const std::string_view end = threads > 1 ? ", or set OMP_NUM_THREADS to fewer threads.\n" : ".\n";
  for (const std::string_view part : {message, end})
    if (speaks(environment)) [[maybe_unused]]
      const auto written = write(2, part.data(), part.size());
  _exit(2);
}

__attribute__((section(".preinit_array"), used)) void (*const before_libraries)(int, char**, char**) = look_for_memory_of_blas;
#endif

}  // namespace

int threads_granted(int wanted) {
  start_threads(wanted - 1);
  omp_set_dynamic(0);  // else the runtime gives fewer where the machine is busy
  int granted = 1;
#pragma omp parallel num_threads(wanted)
#pragma omp single
  granted = omp_get_num_threads();
  return granted;
}

}  // namespace trireme::kernels
