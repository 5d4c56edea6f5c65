// `trireme train` under the limits that a site sets on a process. Whatever they are, the run ends: it is done, or one message
// says what is too small. Oracle: exit status, messages, and the start block's number of threads.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "validation/unit/support/run_files.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TRIREME_LIMITS_ADDRESSES GTEST_SKIP() << "the sanitizer reserves terabytes of addresses"
#else
#define TRIREME_LIMITS_ADDRESSES
#endif

namespace trireme::test {
namespace {

/// A short run by a shell that first does `before`; a hang gives 124.
Result train_after(const std::string& before, const Folder& folder, const std::string& values = "run.threads=0", int ranks = 1) {
  const std::string command = fmt::format(
      "unset OMP_NUM_THREADS OPENBLAS_NUM_THREADS; {}; exec {} -n {} {} train input/tiny.toml model.layers=1 batch.global=4 "
      "run.steps=2 checkpoint.every=1 {} run.directory={}",
      before, launcher(), ranks, program().string(), values, folder / "run");
  return run({"bash", "-c", command}, 60);
}

constexpr int too_few = 150000, plenty = 1 << 26;  // KiB; the latter is enough for the threads of 500 cores

class AddressSpace : public testing::TestWithParam<int> {};

// The launcher needs little; the BLAS library takes 128 MiB a thread when it is loaded, and asks for ever where it gets none.
TEST_P(AddressSpace, IsEnoughOrRefused) {
  TRIREME_LIMITS_ADDRESSES;
  const Folder folder;
  const Result result = train_after(fmt::format("ulimit -v {}", GetParam()), folder, "run.threads=1");
  EXPECT_TRUE(result.status == 0 || GetParam() != plenty) << result.out << result.err;
  EXPECT_TRUE(result.status == 2 || GetParam() != too_few) << result.out << result.err;
  if (result.status == 0) {
    EXPECT_EQ(read_text(folder / "run/status"), "0 done\n");
    return;
  }
  EXPECT_EQ(result.status, 2) << result.out << result.err;
  EXPECT_EQ(occurrences(result.err, "ulimit -v unlimited"), 1) << result.err;
  EXPECT_EQ(occurrences(result.err, "run.threads"), 0) << "one thread is the least: " << result.err;
  EXPECT_FALSE(fs::exists(folder / "run"));
}

INSTANTIATE_TEST_SUITE_P(KiB, AddressSpace, testing::Values(too_few, 300000, 450000, 600000, 700000, 1500000, plenty));

TEST(SiteLimits, FewerThreadsAreACureWhereThereAreSeveral) {
  TRIREME_LIMITS_ADDRESSES;
  const Folder folder;
  const Result one = train_after("export OMP_NUM_THREADS=1; ulimit -v 150000", folder, "run.threads=1");
  EXPECT_EQ(one.status, 2) << one.err;
  EXPECT_EQ(occurrences(one.err, "(ulimit -v unlimited).\n"), 1) << one.err;
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "one core: there are no two threads";
  const Result load = train_after("export OMP_NUM_THREADS=2; ulimit -v 150000", folder, "run.threads=1");
  EXPECT_EQ(occurrences(load.err, "(ulimit -v unlimited), or set OMP_NUM_THREADS to fewer threads.\n"), 1) << load.err;
  const Result two = train_after("ulimit -v 700000", folder, "run.threads=2");
  EXPECT_EQ(two.status, 2) << two.err;
  EXPECT_EQ(occurrences(two.err, "(ulimit -v unlimited), or set run.threads below 2"), 1) << two.err;
}

TEST(SiteLimits, DataOfAProcess) {
  TRIREME_LIMITS_ADDRESSES;
  const Folder folder;
  const Result result = train_after("ulimit -d 200000", folder);
  EXPECT_EQ(result.status, 2) << result.out << result.err;
  EXPECT_EQ(occurrences(result.err, "ulimit -d"), 1) << result.err;
  EXPECT_FALSE(fs::exists(folder / "run"));
}

TEST(SiteLimits, FewerThreadsThanAsked) {
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "one core: there are no two threads to lower";
  {
    const Folder folder;
    const Result lowered = train_after("export OMP_THREAD_LIMIT=1", folder);
    EXPECT_EQ(lowered.status, 0) << lowered.err;
    EXPECT_NE(lowered.out.find("threads a rank: 1 (OpenMP gives no more (OMP_THREAD_LIMIT)"), std::string::npos) << lowered.out;
  }
  {
    const Folder folder;
    const Result refused = train_after("export OMP_THREAD_LIMIT=1", folder, "run.threads=2");
    EXPECT_EQ(refused.status, 2) << refused.out;
    EXPECT_NE(refused.err.find("raise or unset OMP_THREAD_LIMIT, or set run.threads = 1"), std::string::npos) << refused.err;
    EXPECT_FALSE(fs::exists(folder / "run"));
  }
}

TEST(SiteLimits, DynamicTeamsAreOff) {
  const Folder folder;
  const Result result = train_after("export OMP_DYNAMIC=true OMP_WAIT_POLICY=passive", folder);
  EXPECT_EQ(result.status, 0) << result.err;
}

TEST(SiteLimits, OmpNumThreadsIsHonouredUnlessRunThreadsIsSet) {
  const auto line = [](const std::string& before, const std::string& values) {
    const Folder folder;
    const Result result = train_after(before, folder, values, 2);
    EXPECT_EQ(result.status, 0) << result.err;
    const auto begin = result.out.find("threads a rank: ");
    return begin == std::string::npos ? result.out : result.out.substr(begin, result.out.find('\n', begin) - begin);
  };
  EXPECT_EQ(line("export OMP_NUM_THREADS=1", "run.threads=0"), "threads a rank: 1 (OMP_NUM_THREADS)");
  EXPECT_EQ(line("export OMP_NUM_THREADS=999", "run.threads=1"),
            "threads a rank: 1 (run.threads; OMP_NUM_THREADS = 999 is ignored)");
  const std::string cores = std::to_string(sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_EQ(line("export OMP_NUM_THREADS=999", "run.threads=0")
                .find("threads a rank: " + cores + " (OMP_NUM_THREADS = 999, and a rank may use"),
            0u);
}

}  // namespace
}  // namespace trireme::test
