// What a rank may use of its node: threads and memory, after all limits and its neighbours.
#pragma once

#include <cstdint>
#include <string>

#include "config/config.h"
#include "grid/world.h"
#include "run/limits.h"

namespace trireme::run {

struct Threads {
  int count = 1;   // of a rank
  std::string by;  // what decided: "run.threads", "OMP_NUM_THREADS" ...
};

/// The number that `environment` (OMP_NUM_THREADS, null: unset) asks for, the first of a list such as "4,2"; 0: none.
int threads_asked(const char* environment);

/// Every rank: run.threads, else OMP_NUM_THREADS, else the rank's share of the cores and of the processor time that a control
/// group gives. Refuses, agreed, more threads than cores, and what the system will not start. OMP_THREAD_LIMIT lowers a number
/// that run.threads does not ask for.
Threads choose_threads(const config::Config& config, grid::World& world);

/// Every rank: bytes of memory for this rank: its share of the node's, or of what a control group allows; infinite: unknown.
Limit memory_of_rank(grid::World& world);

/// Every rank: refuses, agreed, where the limits of the process (ulimit -v, ulimit -d) leave less than `bytes` and what threads
/// and libraries map beside it.
void check_address_space(grid::World& world, std::int64_t bytes, int threads);

}  // namespace trireme::run
