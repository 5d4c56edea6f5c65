// What the system lets this process have: memory, processor time, address space. The tightest of several limits counts.
#pragma once

#include <limits>
#include <string>

namespace trireme::run {

/// Where the system tells it; tests give folders of their own.
struct SystemFiles {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
};

/// A limit, and who sets it; infinite: nobody.
struct Limit {
  double value = std::numeric_limits<double>::infinity();
  std::string by = "";
};

/// Bytes that the system could still give to new allocations (MemAvailable).
Limit node_memory(const SystemFiles& files = {});

/// Bytes that the control groups of this process, versions 1 and 2, and all groups above them still allow: the limit less what is
/// in use, caches of files apart. `by` is the group's folder; all processes in it share this.
Limit group_memory(const SystemFiles& files = {});

/// Processors' worth of time that these groups allow, e.g. 1.5.
Limit group_processors(const SystemFiles& files = {});

/// Bytes of addresses that this process may still map (ulimit -v, ulimit -d).
Limit address_space(const SystemFiles& files = {});

}  // namespace trireme::run
