#include "grid/shared_table.h"

#include <cerrno>
#include <chrono>
#include <new>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"

namespace trireme::grid {

void SharedTable::open(const char* name, int flags) {
  const int file = shm_open(name, flags, 0600);
  const bool sized = file >= 0 && (!(flags & O_CREAT) || ftruncate(file, static_cast<off_t>(bytes())) == 0);
  void* const memory = sized ? mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  const int error = errno;
  if (file >= 0) close(file);
  if (memory == MAP_FAILED)
    base::fail("run.watchdog: the ranks of a node cannot share memory ({}): {}", name, base::system_words(error));
  memory_ = memory;
}

SharedTable::SharedTable(World& world, Control group) : size_(group.size()) {
  // Nobody else makes this name: a process and a moment.
  std::int64_t moment = std::chrono::steady_clock::now().time_since_epoch().count(), process = getpid();
  group.broadcast(moment);
  group.broadcast(process);
  const std::string name = fmt::format("/trireme-{}-{}", process, moment);
  world.agree([&] {
    if (group.rank() != 0) return;
    open(name.c_str(), O_RDWR | O_CREAT | O_EXCL);
    new (memory_) std::atomic<std::int32_t>(0);
    for (int r = 0; r < size_; ++r) new (rows() + r) TableRow;
  });
  try {
    world.agree([&] {
      if (group.rank() != 0) open(name.c_str(), O_RDWR);
    });
  } catch (const Agreed&) {
    if (group.rank() == 0) shm_unlink(name.c_str());
    throw;
  }
  if (group.rank() == 0) shm_unlink(name.c_str());
}

SharedTable::~SharedTable() { munmap(memory_, bytes()); }

}  // namespace trireme::grid
