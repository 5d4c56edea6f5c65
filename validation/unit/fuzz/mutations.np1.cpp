// Some thousand damaged files of each format: each is read, or refused by a base::Error that says something. No crash, no other
// exception, bounded time and memory. The oracle is this contract; the damage is the same in every run.
#include <csignal>
#include <cstdio>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/error.h"
#include "validation/fuzz/format.h"
#include "validation/fuzz/mutate.h"

namespace trireme::fuzz {
namespace {

constexpr int mutations = 3000;             // of a format
constexpr int processor_seconds = 10;       // of one reading, far above what any takes
constexpr rlim_t memory = rlim_t{6} << 30;  // address space of this process

char now[200];  // which reading this is, for a crash

/// Names the reading and ends as before.
void on_crash(int signal) {
  if (::write(STDERR_FILENO, now, std::char_traits<char>::length(now)) < 0) ::_exit(1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void allow_processor_time(int seconds) {
  const itimerval timer = {{0, 0}, {seconds, 0}};
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

class Mutations : public testing::TestWithParam<Format> {
 protected:
  static void SetUpTestSuite() {
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF}) std::signal(signal, on_crash);
#ifndef __SANITIZE_ADDRESS__  // which reserves more than that
    const rlimit limit = {memory, memory};
    ::setrlimit(RLIMIT_AS, &limit);
#endif
  }
  ~Mutations() override { allow_processor_time(0); }
};

TEST_P(Mutations, EndInABaseErrorOrAreRead) {
  const Format& format = GetParam();
  const std::vector<std::string> seeds = format.seeds();
  for (const std::string& seed : seeds) ASSERT_NO_THROW(format.read(seed)) << "a seed of " << format.name << " is not valid";
  Mutator mutate(1);
  int refused = 0;
  for (int k = 0; k < mutations; ++k) {
    const std::string bytes = mutate(seeds[k % seeds.size()], seeds[(k + 1) % seeds.size()]);
    std::snprintf(now, sizeof now, "a crash, or no end, in mutation %d of %s\n", k, format.name.c_str());
    allow_processor_time(processor_seconds);
    try {
      format.read(bytes);
    } catch (const base::Error& error) {
      ++refused;
      EXPECT_GT(std::string(error.what()).size(), 10u) << "mutation " << k;
      EXPECT_LT(std::string(error.what()).size(), 100000u) << "mutation " << k;
    } catch (const std::exception& error) {
      ADD_FAILURE() << "mutation " << k << " of " << format.name << ": " << typeid(error).name() << ": " << error.what();
    }
  }
  EXPECT_GT(refused, mutations / 20) << "what is damaged is hardly ever noticed";
}

INSTANTIATE_TEST_SUITE_P(Formats, Mutations, testing::ValuesIn(all_formats()),
                         [](const auto& format) { return format.param.name; });

}  // namespace
}  // namespace trireme::fuzz
