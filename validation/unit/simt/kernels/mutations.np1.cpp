// The mutation check: every bug of kernels/cuda/bugs.h is planted, and the kernel's own tests must notice, be it by wrong values
// or by a report of the simulator or of the sanitizer that it is built with. Without a bug they must pass. The table printed says
// by which build, and in which order each was caught; `make mutations` prints those of all builds.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <vector>

#include <gtest/gtest-spi.h>

#include "kernels/cuda/bugs.h"
#include "validation/unit/simt/fixture.h"
#include "validation/unit/simt/kernels/attention_backward_cases.h"
#include "validation/unit/simt/kernels/attention_cases.h"
#include "validation/unit/simt/kernels/cross_entropy_cases.h"
#include "validation/unit/simt/kernels/embedding_cases.h"
#include "validation/unit/simt/kernels/gemm_cases.h"
#include "validation/unit/simt/kernels/layer_norm_cases.h"
#include "validation/unit/simt/kernels/optimizer_cases.h"
#include "validation/unit/simt/kernels/pipeline_sm90_cases.h"
#include "validation/unit/simt/kernels/residual_cases.h"

namespace trireme::simt {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr const char* build = "asan";
constexpr bool findings_end_the_program = true;
#else
constexpr const char* build = finds_races ? "tsan" : "plain";
constexpr bool findings_end_the_program = false;
#endif

/// The least shapes that use every part of the kernels; each stops at the first that is wrong.
bool layer_norm_is_right() {
  const Reals constant = Tensor<float>(Reals(264, 12345.678)).reals();
  return forward_is_right<float>(2, 33) && forward_is_right<float>(1, 264, constant) && forward_is_right<bf16>(3, 1024) &&
         residual_is_right<bf16>({3, 2, 1}, 264, 0.2f) && backward_is_right<bf16>(50, 520, true) &&
         backward_is_right<bf16>(1, 20488, false);
}
bool residual_is_right() {
  const Dropout dropout{0.2f, 1, 0};
  return bias_residual_is_right<bf16>({3, 2, 1}, 72, dropout) && bias_residual_is_right<float>({2, 2, 1}, 33, dropout) &&
         bias_residual_backward_is_right<bf16>({65, 2, 0}, 24, dropout, true);
}
bool gemm_is_right() {
  return linear_gelu_is_right<bf16>({70, 200, 72}) && linear_is_right<fp16>({9, 35, 21}, true) &&
         linear_is_right<bf16>({5, 520, 12}, true) && linear_residual_is_right<bf16>({4, 3, 2}, 24, 36, 0.3f, true) &&
         input_gradient_is_right<bf16>({20, 24, 40}, true) && weight_gradient_is_right<bf16>({520, 136, 24}, true) &&
         weight_gradient_is_right<bf16>({40, 136, 24}, true) && linear_is_right<float>({9, 35, 21}, true) &&
         linear_is_right<bf16>({2100, 8, 8}, true) && far_slopes_are_right<float>();
}
bool attention_bf16_is_right() { return attention_is_right<bf16>({{150, 1, 0}, 1, 64, 1}, 0.1f); }
bool attention_fp32_is_right() { return attention_is_right<float>({{70, 1, 0}, 1, 8, 1}, 0.1f); }
bool attention_gradients_are_right() {
  return attention_backward_is_right<bf16>({{70, 1, 0}, 1, 64, 1}, 0.2f) &&
         attention_backward_is_right<float>({{35, 1, 0}, 1, 9, 0}, 0);
}
bool cross_entropy_is_right() {
  const Slices slices{{0, 300, 304}, {300, 33, 40}};
  Reals logits = random_logits<bf16>(slices, 3, 1, -9);
  logits[299] = -2;  // the largest, in another warp than the first one
  return losses_are_right<bf16>(slices, logits, {0, 310, 302}) &&
         losses_are_right<float>({{0, 7, 9}}, random_logits<float>({{0, 7, 9}}, 2), {6, 0});
}
bool optimizer_is_right() { return adamw_is_right<bf16>(1030, 0) && adamw_is_right<fp16>(21, 1) && sums_are_right(2051, 0); }
bool embedding_is_right() {
  const kernels::VocabularyRange range{10, 5, 8};
  return embedded_is_right<bf16>({3, 4, 1}, 24, range, true, {}) &&
         embedding_backward_is_right<bf16>({40, 4, 0}, 24, range, tokens_around(range, 160), true);
}
// Two tiles a block, so that stages, parities and the result's memory are used again.
bool pipeline_is_right() { return pipelined_is_right({150, 136, 136}, 2); }

struct Mutant {
  int bug;
  const char *name, *what;
};
struct Table {
  const char* kernels;
  bool (*are_right)();
  std::vector<Mutant> mutants;
  bool races_only = false;  // other builds than ThreadSanitizer's need not notice
};
const Table tables[] = {
#define TRIREME_MUTANT(name, what) {static_cast<int>(kernels::cuda::Bug::name), #name, what},
    {"rows", layer_norm_is_right, {TRIREME_BUGS_ROWS(TRIREME_MUTANT)}},
    {"layer norm", layer_norm_is_right, {TRIREME_BUGS_LAYER_NORM(TRIREME_MUTANT)}},
    {"residual", residual_is_right, {TRIREME_BUGS_RESIDUAL(TRIREME_MUTANT)}},
    {"cross-entropy", cross_entropy_is_right, {TRIREME_BUGS_CROSS_ENTROPY(TRIREME_MUTANT)}},
    {"optimizer", optimizer_is_right, {TRIREME_BUGS_OPTIMIZER(TRIREME_MUTANT)}},
    {"embedding", embedding_is_right, {TRIREME_BUGS_EMBEDDING(TRIREME_MUTANT)}},
    {"tiles", gemm_is_right, {TRIREME_BUGS_TILE(TRIREME_MUTANT)}},
    {"matrix products", gemm_is_right, {TRIREME_BUGS_GEMM(TRIREME_MUTANT)}},
    {"attention", attention_bf16_is_right, {TRIREME_BUGS_ATTENTION(TRIREME_MUTANT)}},
    {"attention in fp32", attention_fp32_is_right, {TRIREME_BUGS_ATTENTION_FP32(TRIREME_MUTANT)}},
    {"attention backward", attention_gradients_are_right, {TRIREME_BUGS_ATTENTION_BACKWARD(TRIREME_MUTANT)}},
    {"pipeline", pipeline_is_right, {TRIREME_BUGS_PIPELINE(TRIREME_MUTANT)}},
    {"matrix products", gemm_is_right, {TRIREME_BUGS_GEMM_RACES(TRIREME_MUTANT)}, true},
#undef TRIREME_MUTANT
};

void run_in(const Turn& turn, int bug) {
  options() = {};
  options().order = turn.order;
  options().seed = turn.seed;
  options().planted_bug = bug;
}

/// "" when nothing was noticed
std::string verdict(const Table& table) {
  ::testing::TestPartResultArray expected;  // the values' complaints are what is wanted here
  const ::testing::ScopedFakeTestPartResultReporter reporter(&expected);
  try {
    return table.are_right() ? "" : "wrong values";
  } catch (const Error& e) {
    return e.what();
  }
}

/// The verdict of a child process, or the line in which a sanitizer ended it
std::string verdict_in_child(const Table& table) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    std::FILE* said = fdopen(dup(ends[1]), "w");
    dup2(ends[1], STDERR_FILENO);
    fmt::print(said, "verdict: {}\n", verdict(table));
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
  for (const Table& table : tables)
    for (const Turn& turn : turns) {
      run_in(turn, 0);
      EXPECT_TRUE(table.are_right()) << table.kernels << ' ' << turn.name;
    }
  options() = {};
}

void expect_caught(const Table& table, const Mutant& mutant) {
  int caught = 0;
  std::string orders, last;
  for (const Turn& turn : turns) {
    run_in(turn, mutant.bug);
    const std::string said = findings_end_the_program ? verdict_in_child(table) : verdict(table);
    caught += !said.empty();
    orders += fmt::format(" {:10}", said.empty() ? "-" : said == "wrong values" ? "values" : "report");
    if (!said.empty()) last = said;
  }
  std::cout << fmt::format("{:6}{:42}{:44}  {}: {}\n", build, mutant.name, orders, mutant.what, last);
  if (!table.races_only || finds_races) {
    EXPECT_GT(caught, 0) << mutant.name << ": " << mutant.what;
  }
}

TEST(SimtMutations, EachIsCaught) {
  std::size_t planted = 0;
  for (const Table& table : tables) {
    planted += table.mutants.size();
    for (const Mutant& mutant : table.mutants) expect_caught(table, mutant);
  }
#define TRIREME_ONE(name, what) +1
  EXPECT_EQ(planted, 0u TRIREME_BUGS(TRIREME_ONE)) << "a table of bugs.h is not in the list above";
#undef TRIREME_ONE
  options() = {};
}

}  // namespace
}  // namespace trireme::simt
