#include "grid/cores.h"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>
#include <sched.h>

#include "base/file.h"

namespace trireme::grid {

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) base::fail("sched_getaffinity: {}", base::system_words(errno));
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

std::string compact(const std::vector<int>& ascending) {
  std::string text;
  for (std::size_t i = 0, end; i < ascending.size(); i = end) {
    for (end = i + 1; end < ascending.size() && ascending[end] == ascending[end - 1] + 1;) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", ascending[i]);
    if (end - i > 1) text += fmt::format("-{}", ascending[end - 1]);
  }
  return text;
}

int fair_share(const std::vector<int>& cores, const std::vector<std::int64_t>& users) {
  double share = 0;
  for (const int core : cores) share += 1.0 / static_cast<double>(users[static_cast<std::size_t>(core)]);
  return std::max(1, static_cast<int>(share + 1e-6));  // 3 thirds make 1
}

int cores_of_rank(World& world) {
  const std::vector<int> cores = allowed_cores();
  std::vector<std::int64_t> users(CPU_SETSIZE);
  for (const int core : cores) users[static_cast<std::size_t>(core)] = 1;
  world.node_group().all_reduce(users, Reduce::sum);
  return fair_share(cores, users);
}

}  // namespace trireme::grid
