// The limits of a machine, from folders that look like /proc and /sys/fs/cgroup. Oracle: numbers written into these folders;
// exact.
#include <cmath>

#include <gtest/gtest.h>

#include "run/limits.h"
#include "run/resources.h"
#include "validation/unit/support/process.h"

namespace trireme::run {
namespace {

class Limits : public testing::Test {
 protected:
  /// A file of the fake system, with its folders.
  void put(const std::string& path, const std::string& text) { test::write_text_below(folder_.path() / path, text + "\n"); }

  std::string group(const std::string& name) const { return (folder_.path() / "cgroup" / name).string(); }

  test::Folder folder_;
  const SystemFiles files_{folder_ / "proc", folder_ / "cgroup"};
};

TEST_F(Limits, WithoutFilesThereAreNone) {
  EXPECT_TRUE(std::isinf(node_memory(files_).value));
  EXPECT_TRUE(std::isinf(group_memory(files_).value));
  EXPECT_TRUE(std::isinf(group_processors(files_).value));
}

TEST_F(Limits, OfTheNode) {
  put("proc/meminfo", "MemTotal: 100 kB\nMemFree: 5 kB\nMemAvailable: 7 kB");
  EXPECT_EQ(node_memory(files_).value, 7 * 1024);
}

TEST_F(Limits, Version2CountsFreeMemoryAndCachesOfTheGroupAndOfAllAbove) {
  put("proc/self/cgroup", "0::/job/step");
  put("cgroup/job/step/memory.max", "max");
  put("cgroup/job/step/cpu.max", "max 100000");
  put("cgroup/job/memory.max", "1000000");
  put("cgroup/job/memory.current", "700000");
  put("cgroup/job/memory.stat", "anon 1\nfile 5\ninactive_file 50000");
  put("cgroup/job/cpu.max", "150000 100000");
  EXPECT_EQ(group_memory(files_).value, 350000);
  EXPECT_EQ(group_memory(files_).by, group("job"));
  EXPECT_EQ(group_processors(files_).value, 1.5);
  put("cgroup/job/step/memory.max", "200000");
  put("cgroup/job/step/memory.current", "250000");
  EXPECT_EQ(group_memory(files_).value, 0) << "more in use than allowed";
  EXPECT_EQ(group_memory(files_).by, group("job/step"));
}

TEST_F(Limits, Version1HasAFolderForEachController) {
  put("proc/self/cgroup", "9:cpu,cpuacct:/slurm/job\n4:memory:/slurm/job\n1:name=systemd:/user");
  put("cgroup/memory/slurm/job/memory.limit_in_bytes", "9223372036854771712");
  put("cgroup/memory/slurm/memory.limit_in_bytes", "4096");
  put("cgroup/memory/slurm/memory.usage_in_bytes", "1096");
  put("cgroup/memory/slurm/memory.stat", "inactive_file 9\ntotal_inactive_file 24");
  put("cgroup/cpu,cpuacct/slurm/job/cpu.cfs_quota_us", "-1");
  put("cgroup/cpu,cpuacct/slurm/job/cpu.cfs_period_us", "100000");
  put("cgroup/cpu,cpuacct/slurm/cpu.cfs_quota_us", "300000");
  put("cgroup/cpu,cpuacct/slurm/cpu.cfs_period_us", "100000");
  EXPECT_EQ(group_memory(files_).value, 3024);
  EXPECT_EQ(group_processors(files_).value, 3);
}

TEST_F(Limits, BothVersionsAtOnce) {
  put("proc/self/cgroup", "4:memory:/a\n0::/b");
  put("cgroup/memory/a/memory.limit_in_bytes", "5000");
  put("cgroup/unified/b/cpu.max", "50000 100000");
  EXPECT_EQ(group_memory(files_).value, 5000);
  EXPECT_EQ(group_processors(files_).value, 0.5);
}

TEST_F(Limits, InAContainerThatSeesItsOwnGroupAsTheRoot) {
  put("proc/self/cgroup", "0::/docker/of/the/host");
  put("cgroup/memory.max", "77");
  put("cgroup/cpu.max", "200000 100000");
  EXPECT_EQ(group_memory(files_).value, 77);
  EXPECT_EQ(group_processors(files_).value, 2);
}

TEST_F(Limits, FilesThatSayNothingAreNoLimits) {
  put("proc/self/cgroup", "nonsense\n0::\n0::relative/path\n::::\n0::/x");
  put("cgroup/x/memory.max", "");
  put("cgroup/x/cpu.max", "100000 0");
  EXPECT_TRUE(std::isinf(group_memory(files_).value));
  EXPECT_TRUE(std::isinf(group_processors(files_).value));
}

TEST(Resources, ThreadsAsOpenMpReadsThem) {
  for (const auto& [text, threads] :
       std::vector<std::pair<const char*, int>>{{nullptr, 0}, {"", 0}, {"4", 4}, {" 3", 3}, {"4,2", 4}, {"-2", 0}, {"all", 0}})
    EXPECT_EQ(threads_asked(text), threads) << (text ? text : "unset");
}

}  // namespace
}  // namespace trireme::run
