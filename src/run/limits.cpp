#include "run/limits.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include "base/text.h"

namespace trireme::run {
namespace {

/// The word at `index` of a file, as a number; nothing where it is none ("max").
std::optional<double> number_in(const std::string& path, int index = 0) {
  std::ifstream file(path);
  std::string word;
  for (int k = 0; k <= index; ++k) file >> word;
  double value = 0;
  std::istringstream digits(word);
  return file && digits >> value ? std::optional(value) : std::nullopt;
}

/// The number behind `name` in a file of names and numbers.
double number_after(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::string word;
  double value = 0;
  while (file >> word)
    if (word == name && file >> value) return value;
  return 0;
}

/// The names of the files in which a version of control groups tells its limits.
struct MemoryNames {
  const char *limit, *used, *cached;
};
constexpr MemoryNames memory_names[] = {{"/memory.max", "/memory.current", "inactive_file"},
                                        {"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file"}};

/// A group without a limit: no file, "max", or version 1's largest number.
std::optional<double> memory_left(const std::string& folder) {
  for (const auto& [limit, used, cached] : memory_names) {
    const auto most = number_in(folder + limit);
    if (!most || *most >= 0x1p60) continue;
    return std::max(0.0, *most - number_in(folder + used).value_or(0) + number_after(folder + "/memory.stat", cached));
  }
  return std::nullopt;
}

std::optional<double> processors_of(const std::string& folder) {
  auto quota = number_in(folder + "/cpu.max"), period = number_in(folder + "/cpu.max", 1);
  if (!quota) quota = number_in(folder + "/cpu.cfs_quota_us"), period = number_in(folder + "/cpu.cfs_period_us");
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return *quota / *period;
}

bool lists(const std::string& controllers, const std::string& controller) {
  const auto names = base::split(controllers, ',');
  return std::find(names.begin(), names.end(), controller) != names.end();
}

/// Folders that may hold the limits of a line of /proc/self/cgroup, "4:memory:/a/b" or "0::/a/b": the group's and all above.
std::vector<std::string> folders_of(const std::string& line, const std::string& controller, const std::string& root) {
  const auto first = line.find(':'), second = line.find(':', first + 1);
  if (second == std::string::npos) return {};
  const std::string controllers = line.substr(first + 1, second - first - 1);
  if (!controllers.empty() && !lists(controllers, controller)) return {};
  std::vector<std::string> tops = {root, root + "/unified"};
  if (!controllers.empty()) tops = {root + "/" + controllers, root + "/" + controller};
  std::vector<std::string> folders;
  for (std::string group = line.substr(second + 1);; group.erase(group.rfind('/'))) {
    if (group == "/") group.clear();
    for (const std::string& top : tops) folders.push_back(top + group);
    if (group.empty() || group.front() != '/') return folders;
  }
}

Limit tightest(const SystemFiles& files, const std::string& controller,
               const std::function<std::optional<double>(const std::string&)>& read) {
  Limit limit;
  std::ifstream groups(files.proc + "/self/cgroup");
  for (std::string line; std::getline(groups, line);)
    for (const std::string& folder : folders_of(line, controller, files.cgroup))
      if (const auto value = read(folder); value && *value < limit.value) limit = {*value, folder};
  return limit;
}

/// What `kind` of the process's limits leaves, where `used` bytes are taken.
Limit left_of(int kind, double used, const std::string& name) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(kind), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return {std::max(0.0, static_cast<double>(limit.rlim_cur) - used), name};
}

}  // namespace

Limit node_memory(const SystemFiles& files) {
  const double kib = number_after(files.proc + "/meminfo", "MemAvailable:");
  return kib > 0 ? Limit{kib * 1024, "MemAvailable"} : Limit{};
}

Limit group_memory(const SystemFiles& files) { return tightest(files, "memory", memory_left); }

Limit group_processors(const SystemFiles& files) { return tightest(files, "cpu", processors_of); }

Limit address_space(const SystemFiles& files) {
  const std::string status = files.proc + "/self/status";
  const Limit all = left_of(RLIMIT_AS, 1024 * number_after(status, "VmSize:"), "ulimit -v");
  const Limit data = left_of(RLIMIT_DATA, 1024 * number_after(status, "VmData:"), "ulimit -d");
  return data.value < all.value ? data : all;
}

}  // namespace trireme::run
