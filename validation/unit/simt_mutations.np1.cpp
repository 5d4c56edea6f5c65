// The mutation check: every bug of kernels/cuda/bugs.h is planted, and the kernel's own tests must notice, be it by wrong values
// or by a report of the simulator. Without a bug they must pass. The table printed says in which order each was caught.
#include <fmt/format.h>

#include <functional>
#include <iostream>

#include <gtest/gtest-spi.h>

#include "kernels/cuda/bugs.h"
#include "validation/unit/simt_fixture.h"
#include "validation/unit/simt_gemm_cases.h"
#include "validation/unit/simt_layer_norm_cases.h"

namespace trireme::simt {
namespace {

struct Mutant {
  int bug;
  const char *name, *what;
};
constexpr Mutant mutants[] = {
#define TRIREME_MUTANT(name, what) {static_cast<int>(kernels::cuda::Bug::name), #name, what},
    TRIREME_BUGS(TRIREME_MUTANT)
#undef TRIREME_MUTANT
};

/// The least shapes that use every part of the kernels; stops at the first that is wrong.
bool kernels_are_right() {
  return forward_is_right<float>(2, 33) && forward_is_right<bf16>(3, 1024) && residual_is_right<bf16>({3, 2, 1}, 264, 0.2f) &&
         backward_is_right<bf16>(50, 520, true) && linear_is_right<bf16>({70, 200, 72}, true, true) &&
         linear_is_right<fp16>({9, 35, 21}, true, false);
}

/// "" when nothing was noticed
std::string verdict() {
  try {
    return kernels_are_right() ? "" : "wrong values";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(SimtMutations, WithoutABugAllIsRight) {
  for (const Turn& turn : turns) {
    options() = {};
    options().order = turn.order;
    options().seed = turn.seed;
    EXPECT_TRUE(kernels_are_right()) << turn.name;
  }
  options() = {};
}

TEST(SimtMutations, EachIsCaught) {
  for (const Mutant& mutant : mutants) {
    int caught = 0;
    std::string orders, last;
    for (const Turn& turn : turns) {
      options() = {};
      options().order = turn.order;
      options().seed = turn.seed;
      options().planted_bug = mutant.bug;
      ::testing::TestPartResultArray expected;  // the values' complaints are what is wanted here
      std::string said;
      {
        const ::testing::ScopedFakeTestPartResultReporter reporter(&expected);
        said = verdict();
      }
      caught += !said.empty();
      orders += fmt::format(" {:10}", said.empty() ? "-" : said == "wrong values" ? "values" : "report");
      if (!said.empty()) last = said;
    }
    std::cout << fmt::format("{:28}{}  {}: {}\n", mutant.name, orders, mutant.what, last);
    EXPECT_GT(caught, 0) << mutant.name << ": " << mutant.what;
  }
  options() = {};
}

}  // namespace
}  // namespace trireme::simt
