// The mutation check: every bug of ../mutations is planted, and the kernel's own checks must notice, be it by wrong values or by
// a report of the simulator or of the sanitizer that it is built with. Without a bug they must pass. The table printed says by
// which build, and in which order each was caught; `make mutations` prints those of all builds.
#include "validation/unit/simt/mutations/mutations.h"

#include <cstdio>
#include <iostream>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest-spi.h>
#include <sys/wait.h>
#include <unistd.h>

#include "validation/unit/simt/fixture.h"

namespace trireme::simt {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr const char* build = "asan";
constexpr bool findings_end_the_program = true;
#else
constexpr const char* build = finds_races ? "tsan" : "plain";
constexpr bool findings_end_the_program = false;
#endif

/// "" when nothing was noticed
std::string verdict(const Mutation& mutation) {
  ::testing::TestPartResultArray expected;  // the values' complaints are what is wanted here
  const ::testing::ScopedFakeTestPartResultReporter reporter(&expected);
  try {
    return mutation.check() ? "" : "wrong values";
  } catch (const Error& e) {
    return e.what();
  }
}

/// The verdict of a child process, or the line in which a sanitizer ended it
std::string verdict_in_child(const Mutation& mutation) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    std::FILE* said = fdopen(dup(ends[1]), "w");
    dup2(ends[1], STDERR_FILENO);
    fmt::print(said, "verdict: {}\n", verdict(mutation));
    std::fclose(said);
    _exit(0);
  }
  ::close(ends[1]);
  std::string line, last = "ended without a word";
  for (char c; read(ends[0], &c, 1) == 1; line += c)
    if (c == '\n') {
      for (const std::string mark : {"verdict: ", "ERROR: ", "runtime error: "})
        if (const auto at = line.find(mark); at != line.npos) last = line.substr(at + (mark[0] == 'v' ? mark.size() : 0));
      line.clear();
    }
  ::close(ends[0]);
  waitpid(child, nullptr, 0);
  return last;
}

TEST(SimtMutations, WithoutABugAllIsRight) {
  std::map<bool (*)(), const char*> checks;  // each with a bug that it must notice
  for (const Mutation& mutation : mutations) checks[mutation.check] = mutation.name;
  for (const auto& [check, bug] : checks)
    for (const ThreadOrder& order : thread_orders) {
      use_order(order);
      EXPECT_TRUE(check()) << "the check of " << bug << ' ' << order.name;
    }
  options() = {};
}

void expect_caught(const Mutation& mutation) {
  int caught = 0;
  std::string orders, last;
  *mutation.planted = true;
  for (const ThreadOrder& order : thread_orders) {
    use_order(order);
    const std::string said = findings_end_the_program ? verdict_in_child(mutation) : verdict(mutation);
    caught += !said.empty();
    orders += fmt::format(" {:10}", said.empty() ? "-" : said == "wrong values" ? "values" : "report");
    if (!said.empty()) last = said;
  }
  *mutation.planted = false;
  std::cout << fmt::format("{:6}{:42}{:44}  {}: {}\n", build, mutation.name, orders, mutation.what, last);
  if (!mutation.race || finds_races) {
    EXPECT_GT(caught, 0) << mutation.name << ": " << mutation.what;
  }
}

TEST(SimtMutations, EachIsCaught) {
  for (const Mutation& mutation : mutations) expect_caught(mutation);
  options() = {};
}

}  // namespace
}  // namespace trireme::simt
