// The bugs that can be planted into copies of the kernels, and the checks that must notice them. README.md has the whole.
#pragma once

#include <vector>

namespace trireme::simt {

/// Each runs the least shapes that use every part of its kernels, and stops at the first that is wrong.
namespace checks {
bool layer_norm();
bool residual();
bool gemm();
bool attention();
bool attention_fp32();
bool attention_backward();
bool cross_entropy();
bool optimizer();
bool embedding();
bool pipeline();
bool staged_communicator();
bool nccl_communicator();
bool far_rows();
bool long_rows();
bool moved_by_sums();
bool shifted_products();
bool shifted_vocabulary();
}  // namespace checks

struct Mutation {
  const char *name, *what;  // what: the mistake, in a sentence
  bool (*check)();          // which must not say that all is right
  bool* planted;            // the copies of the kernels read it
  bool race;                // right in every order that the simulator has, wrong by CUDA's rules: for ThreadSanitizer to notice
};

/// Those of all tables; list.awk writes it.
extern const std::vector<Mutation> mutations;

}  // namespace trireme::simt
